"""Bytes and JSON as replies carry them: frames, JSON text, partial JSON, checked objects."""
