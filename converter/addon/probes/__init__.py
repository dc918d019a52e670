"""Sends the addon's own requests to servers: the client for the probes that `servers/probes.py`
describes, and its HTTP, with mitmproxy's TLS options.
"""
