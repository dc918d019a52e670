"""Programs for who works on the addon: benches, captures of real servers, pictures."""
