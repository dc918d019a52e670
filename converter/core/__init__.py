"""Bytes in, bytes out: a reply of any server becomes one of any client. The standard library
alone: no proxy, option, clock, thread or log.
"""
