"""A memory whose values nobody reads without the key."""
