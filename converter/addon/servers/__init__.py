"""Knowledge of servers: profiles, probes, lessons, where replies begin, and refusals."""
