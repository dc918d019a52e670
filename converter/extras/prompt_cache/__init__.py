"""Reports where a prompt differs from the one before it in its conversation, so that the server
must read the rest of it again.
"""
