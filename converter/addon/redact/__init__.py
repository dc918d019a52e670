"""Redaction of data that is kept or sent elsewhere: the fields that may stay, and the secrets that
are crossed out.
"""
