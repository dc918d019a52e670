"""The laws that every reply must pass, recorded or random, and the readers that check it: an
oracle, strict readers, the official SDKs.
"""
