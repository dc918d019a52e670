"""Text in; thinking and text out: families of tags, tag matcher, state table, Markdown, phrases."""
