"""The way from the bytes of a server's reply to the bytes for the client.

`rewriter` leads each frame through decoder, stages and encoder; `fast_path` rewrites frames that
differ only in their text. Other modules decide whether a reply is whole, continue a reply by a
second one, count its tokens, sum it up, and write notes on it for the log.
"""
