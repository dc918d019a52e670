"""Transcripts: requests and replies of all dialects in a form for people. `request` and `reply`
read them, `turns` has their values, and `text`, `terminal` and `shown` (for the page) write them.
"""
