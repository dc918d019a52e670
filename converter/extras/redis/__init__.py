"""Keeps a memory in Redis that several proxies share: kept replies, earlier thoughts and lessons
about servers.
"""
