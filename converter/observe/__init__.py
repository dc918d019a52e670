"""Observations of a reply: summary, thought events, statistics, printable text."""
