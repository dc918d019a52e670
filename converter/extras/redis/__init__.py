"""Memory that several proxies share, in Redis."""
