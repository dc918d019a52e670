"""Observations of a reply: summary, thought events, counts, printable text."""
