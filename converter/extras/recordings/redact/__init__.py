"""Redaction: no secret, no name of a place, the normal form of names that change."""
