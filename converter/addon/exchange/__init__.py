"""An exchange as values: the request step by step, the awaited reply, and the user's options."""
