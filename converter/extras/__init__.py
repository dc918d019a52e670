"""Optional packages (page, recordings, command ...). Any can be deleted, because the addon imports
none of them, but loads by name those that are there.
"""
