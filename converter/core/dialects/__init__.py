"""Wire formats: one reader and one writer for requests and for replies of each. No dialect knows
another.
"""
