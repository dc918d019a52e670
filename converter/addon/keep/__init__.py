"""The record of an exchange, and how long mitmweb keeps its flow."""
