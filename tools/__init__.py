"""Programs for developers: benches, the lab of real servers, recordings, pictures, releases."""
