"""Thinking for people and programs: content views, terminal, thought events, metrics."""
