"""Holds the optional packages (page, recordings, command ...). Any can be deleted: the addon loads
the packages that it needs by name (`converter/addon/extra_packages.py`), and does without those
that are missing.
"""
