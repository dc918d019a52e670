"""Bytes, frames and JSON of requests and replies: cut, read, mended, checked and written. Also the
bounds of a reply, and text made fit to be shown.
"""
