"""Exchanges shown to people and programs: content views, terminal, thought events, metrics."""
