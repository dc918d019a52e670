"""The work of the addon at mitmproxy's hooks: the steps of a request and of its reply, and the
rules that refuse requests of foreign web pages.
"""
