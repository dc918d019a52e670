"""Report where a prompt differs from the one before it, so that a server must read it again."""
