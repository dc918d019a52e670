"""From a server's bytes to the client's: the rewriter, which joins frames, events and stages; the
fast path beside it; whether a reply is whole, and notes on it.
"""
