"""Prompt caches: each prompt against the one before it in its conversation."""
