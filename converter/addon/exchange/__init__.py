"""The values of one exchange (its request, the body that was read, the awaited reply), the user's
options, and earlier thoughts that are put back.
"""
