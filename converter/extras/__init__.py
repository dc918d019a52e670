"""Optional packages (page, recordings, command ...): any can be deleted, for nothing imports it."""
