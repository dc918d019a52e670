"""The memory of replies: stores in this process, in a file, and with a server that several proxies
share; lessons shared through the same stores.
"""
