"""Counts of the metrics, read by Prometheus' own parser."""

from prometheus_client.parser import text_string_to_metric_families


def total(exposition: str, name: str) -> int:
    """Return the sum of a counter over all its labels."""
    return int(
        sum(
            sample.value
            for family in text_string_to_metric_families(exposition)
            for sample in family.samples
            if sample.name == name
        )
    )
