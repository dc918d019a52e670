"""Transcripts: requests and replies of all dialects in a form for people."""
