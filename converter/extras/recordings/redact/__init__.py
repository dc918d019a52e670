"""Redaction of recordings: secrets and names of hosts go, ids and times get a normal form."""
