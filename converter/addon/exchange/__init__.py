"""The data of one exchange: the request as received and as rewritten, how its reply is to be read,
and the user's options.
"""
