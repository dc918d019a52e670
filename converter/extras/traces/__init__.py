"""Spans of exchanges for OpenTelemetry."""
