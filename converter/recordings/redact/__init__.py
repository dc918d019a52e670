"""What makes a capture fit to keep: no secret, no name of a place, the normal form of what changes."""
