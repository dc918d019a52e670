"""The addon's own questions to a server, connected as mitmproxy connects."""
