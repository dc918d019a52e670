"""From a server's bytes to the client's: frames, events and stages, joined; the fast path beside
them; the end of a reply, and notes on it.
"""
