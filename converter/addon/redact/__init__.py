"""Redaction of data that is kept or sent elsewhere: which fields may stay, and how secrets in these
fields are replaced.
"""
