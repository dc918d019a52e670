"""A request step by step, the options that it is read with, and what is kept for the next."""
