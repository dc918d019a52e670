"""The addon's own requests to servers, over connections with mitmproxy's TLS options."""
