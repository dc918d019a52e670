"""The steps of an exchange, called by mitmproxy's hooks, and the rules that refuse web pages."""
