"""The laws of every reply, recorded or drawn, and the readers that judge it: an oracle, strict
readers, the official SDKs.
"""
