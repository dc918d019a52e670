"""Programs for developers of the addon: benches, trials of real servers, recordings, pictures."""
