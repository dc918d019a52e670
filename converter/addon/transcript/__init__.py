"""The readable form of a conversation: requests and replies of all dialects, as people read
them.
"""
