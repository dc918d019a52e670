"""Knowledge of servers: profiles, probes, where replies begin, the words for a full context."""
