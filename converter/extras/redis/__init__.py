"""The memory of kept replies in Redis, which several proxies share."""
