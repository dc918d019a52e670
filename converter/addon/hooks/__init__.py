"""The steps of an exchange, one for each of mitmproxy's hooks, and the rules of its doors."""
