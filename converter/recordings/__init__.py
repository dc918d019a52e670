"""Recordings: captured exchanges that are regression fixtures. `python -m converter.recordings`
keeps, shows and checks them.
"""
