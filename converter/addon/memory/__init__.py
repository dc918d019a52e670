"""The memory of replies: stores in a file or on a server, waits for them, and the lessons about
servers that processes share through the same stores.
"""
