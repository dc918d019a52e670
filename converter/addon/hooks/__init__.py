"""The work behind mitmproxy's hooks, which are methods in `think_addon.py`: the options, the rules
that refuse requests of foreign web pages, the steps of a request and of its reply, and the answers
to our layers.
"""
