"""The readable form of a conversation: requests and replies of all dialects, as a person reads
them.
"""
