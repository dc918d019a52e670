"""OpenTelemetry spans, one for each reply to a chat request, sent to a collector."""
