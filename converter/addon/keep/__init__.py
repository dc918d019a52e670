"""The record of an exchange with its two sides, its notes on the flow, what people are shown of a
flow, and how long mitmweb keeps it.
"""
