"""The numbers at the head: of the last hour of traffic, per model."""

from converter.shell.page.numbers import ALL, BARS, HOUR, in_the_last_hour


def reply(model: str = "small", **told: object) -> dict[str, object]:
    known = {"finish": "stop", "thinking": 30, "text": 70, "first_byte": 0.1, "end": 1.0}
    return {"model": model, **known, **told}


def group(numbers: dict[str, object], name: str = ALL) -> dict[str, object]:
    groups = numbers["groups"]
    assert isinstance(groups, dict)
    found = groups[name]
    assert isinstance(found, dict)
    return found


def test_nothing_has_no_numbers() -> None:
    assert in_the_last_hour([]) == {"groups": {}}


def test_they_are_counted_per_model_and_together() -> None:
    found = [(1.0, reply()), (2.0, reply("large", failure="full")), (3.0, reply())]
    numbers = in_the_last_hour(found)
    assert [group(numbers)[name] for name in ("requests", "failed", "share")] == [3, 1, 0.3]
    assert group(numbers, "small")["requests"] == 2
    assert group(numbers, "large")["failed"] == 1


def test_times_are_the_middle_and_the_slowest() -> None:
    found = [(float(at), reply(first_text=at / 10)) for at in range(1, 101)]
    assert group(in_the_last_hour(found))["first_text"] == [5.0, 9.5]
    assert group(in_the_last_hour(found))["first_thought"] is None


def test_the_hour_ends_with_the_newest() -> None:
    numbers = in_the_last_hour([(5.0, reply("old")), (HOUR + 5, reply()), (HOUR + 4, reply())])
    assert "old" not in numbers["groups"]  # type: ignore[operator]
    assert group(numbers)["requests"] == 2


def test_each_stretch_of_the_hour_has_its_bar() -> None:
    bars = group(in_the_last_hour([(1.0, reply()), (HOUR, reply()), (HOUR, reply())]))["bars"]
    assert isinstance(bars, list)
    assert [bar and bar["requests"] for bar in bars] == [1, *[None] * (BARS - 2), 2]
