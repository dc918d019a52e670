"""OpenTelemetry spans, one for each exchange."""
