"""A judge of prompt caches: sessions, and the place where a prompt breaks."""
