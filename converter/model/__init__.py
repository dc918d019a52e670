"""Values of a reply and a request that belong to no dialect, and what is kept of them by id."""
