"""Prompt caches: each prompt is compared with the prompt before it in its conversation."""
