"""Sends an OpenTelemetry span for each reply to a chat request to a collector."""
