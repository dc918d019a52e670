"""The addon's own requests to a server, connected as mitmproxy connects."""
