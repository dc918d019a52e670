"""Text in; thinking and text out: families of tags, the tag matcher, the state table, Markdown code, phrases."""
