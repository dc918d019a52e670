"""A request step by step, the options that it is read with, and the facts kept for the next."""
