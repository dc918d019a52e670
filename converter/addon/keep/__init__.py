"""The record of an exchange, its notes on the flow, and how long mitmweb keeps the flow."""
