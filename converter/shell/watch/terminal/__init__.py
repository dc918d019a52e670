"""Thinking and answers printed in the terminal as they come."""
