"""The steps of an exchange, called by mitmproxy's hooks, and the rules of what may come in."""
