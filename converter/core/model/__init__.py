"""Values of a reply and a request that belong to no dialect, and replies that are kept by id. Also
functions that read the messages in a request of any dialect.
"""
