"""Shows exchanges to people and programs: content views, terminal, thought events, metrics."""
