"""Redaction of recordings: secrets and host names are removed, ids and times are normalised."""
