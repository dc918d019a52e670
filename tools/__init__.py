"""Programs for developers of the addon: benches, captures of real servers, pictures."""
