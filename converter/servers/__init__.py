"""What is known of a server: profiles, probes, where its replies begin, its words for a full context."""
