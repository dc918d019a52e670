"""Values of a reply and a request that belong to no dialect, and the replies that are kept by id."""
