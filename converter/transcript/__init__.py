"""The readable form of a conversation: requests and replies of both dialects, as a person reads
them.
"""
