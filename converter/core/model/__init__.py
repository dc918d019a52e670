"""Values of a reply and a request that belong to no dialect, and replies that are kept by id."""
