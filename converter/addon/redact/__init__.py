"""Redaction of recordings and of spans: which fields, headers and parts of links a recording may
hold of a request, and how secrets are found and replaced.
"""
