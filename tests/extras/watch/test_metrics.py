"""Counts of all replies, read back by Prometheus' own parser."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from converter.extras.watch.metrics import BUCKETS, MOST_KINDS, MOST_SERIES, Metrics, kind_of_note

pytestmark = pytest.mark.slow

HERE = "127.0.0.1:8000"
STREAMED: dict[str, object] = {
    "model": "small",
    "finish": "stop",
    "thoughts": 2,
    "thinking": 30,
    "text": 10,
    "input_tokens": 7,
    "output_tokens": 40,
    "first_byte": 0.1,
    "first_thought": 0.2,
    "first_text": 1.2,
    "end": 2.0,
}
LABELS = {"model": "small", "server": HERE}

type Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(metrics: Metrics) -> Samples:
    families = text_string_to_metric_families(metrics.text().decode())
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def value(read: Samples, name: str, **labels: str) -> float:
    return read[name, frozenset({**LABELS, **labels}.items())]


def counted(
    *summaries: dict[str, object], outcome: str = "ok", mended: tuple[str, ...] = ()
) -> Metrics:
    metrics = Metrics()
    for summary in summaries:
        metrics.add_reply(summary, HERE, outcome, mended)
    return metrics


def test_requests_are_counted_by_outcome() -> None:
    metrics = counted(STREAMED, STREAMED)
    metrics.add_reply({"model": "small"}, HERE, "broke off", ())
    read = samples(metrics)
    assert value(read, "think_requests_total", outcome="ok") == 2
    assert value(read, "think_requests_total", outcome="broke off") == 1


def test_tokens_of_thinking_are_the_servers_or_a_share() -> None:
    read = samples(counted(STREAMED))
    assert value(read, "think_thinking_tokens_total") == 30
    assert value(read, "think_answer_tokens_total") == 10
    assert value(read, "think_prompt_tokens_total") == 7
    assert value(read, "think_thoughts_total") == 2
    read = samples(counted({**STREAMED, "thinking_tokens": 12}))
    assert value(read, "think_thinking_tokens_total") == 12
    assert value(read, "think_answer_tokens_total") == 28


def test_times_are_histograms() -> None:
    read = samples(counted(STREAMED, {**STREAMED, "first_text": 1000.0}))
    bounds = [value(read, "think_first_text_seconds_bucket", le=f"{bound:g}") for bound in BUCKETS]
    assert bounds == sorted(bounds)
    assert value(read, "think_first_text_seconds_bucket", le="1") == 0
    assert value(read, "think_first_text_seconds_bucket", le="2.5") == 1
    assert value(read, "think_first_text_seconds_bucket", le="+Inf") == 2
    assert value(read, "think_first_text_seconds_count") == 2
    assert value(read, "think_first_text_seconds_sum") == pytest.approx(1001.2, abs=0.1)


def test_a_time_on_a_bound_is_not_above_it() -> None:
    read = samples(counted({**STREAMED, "first_text": 2.5}))
    assert value(read, "think_first_text_seconds_bucket", le="2.5") == 1


def test_of_a_whole_reply_only_the_end_is_a_time() -> None:
    read = samples(counted({**STREAMED, "first_byte": 2.0, "first_text": 2.0}))
    assert value(read, "think_first_text_seconds_count") == 0
    assert value(read, "think_end_seconds_count") == 1


def test_what_was_mended_is_counted_by_kind() -> None:
    assert kind_of_note("arguments of call 3 of 'f' mended: {") == "arguments of call # of … mended"
    read = samples(counted(STREAMED, mended=("call 1 mended: a", "call 2 mended: b")))
    assert value(read, "think_mended_total", what="call # mended") == 2


def test_nothing_grows_without_end() -> None:
    metrics = Metrics()
    for number in range(2 * MOST_SERIES):
        metrics.add_reply({"model": f"m{number}"}, HERE, "ok", ())
    models = {dict(labels)["model"] for _, labels in samples(metrics)}
    assert len(models) == MOST_SERIES + 1
    for number in range(2 * MOST_KINDS):
        metrics.add_reply({"model": "m1"}, HERE, "ok", (f"kind {chr(0x4E00 + number)}",))
    mended = [labels for name, labels in samples(metrics) if name == "think_mended_total"]
    assert len(mended) == MOST_KINDS + 1


def test_names_that_clients_choose_cannot_break_the_format() -> None:
    model = 'a"b\\c\nd} 1\n# {'
    metrics = counted({**STREAMED, "model": model})
    assert {labels["model"] for _, key in samples(metrics) for labels in [dict(key)]} == {model}


def test_without_replies_the_format_is_still_right() -> None:
    assert samples(Metrics()) == {}


def test_a_name_that_is_half_a_character_ends_no_count() -> None:
    """Six plain characters of JSON, which any client may send."""
    metrics = Metrics()
    for model in ("x\ud800", "x\udfff"):
        metrics.add_reply({"model": model}, HERE, "refused", ["model \ud800 refused: unknown"])
    requests = value(samples(metrics), "think_requests_total", model="x?", outcome="refused")
    assert requests == 2


def test_earlier_thoughts_and_ended_ones_are_counted() -> None:
    metrics = Metrics()
    ended = {"budget": 2, "loop": 1}
    summary = {"model": "small", "thoughts_put_back": 3, "thoughts_unknown": 1}
    for _ in range(2):
        metrics.add_reply({**summary, "thoughts_ended": ended}, HERE, "ok", [])
    read = samples(metrics)
    assert value(read, "think_restored_total") == 6
    assert value(read, "think_unknown_total") == 2
    for reason, count in ended.items():
        assert value(read, "think_ended_total", reason=reason) == 2 * count


def test_spans_are_counted_where_there_is_a_collector() -> None:
    metrics = counted(STREAMED)
    assert b"think_spans_total" not in metrics.text()
    metrics.spans.update({"sent": 3, "dropped": 0})
    read = samples(metrics)
    assert read["think_spans_total", frozenset({("outcome", "sent")})] == 3
    assert read["think_spans_total", frozenset({("outcome", "dropped")})] == 0


def test_the_metrics_are_those_of_the_addon_alone_whatever_the_process_says() -> None:
    """Prometheus' own counters say when each was made, and keep their numbers in files."""
    text = counted(STREAMED).text()
    assert b"_created" not in text
    assert b"python_info" not in text
