"""Who has the terminal, and what is printed of whom."""

from collections.abc import Callable, Sequence

import pytest

from converter.model.events import (
    Event,
    Failure,
    Finish,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
)
from converter.shell.watch.terminal import multiplexer
from converter.shell.watch.terminal.margin import Margin
from converter.shell.watch.terminal.multiplexer import MOST_AT_ONCE, Multiplexer
from converter.wire.bounds import MOST_PRINTED, TERMINAL_LIMIT

PATH = "/v1/messages"


def _reply(name: str, thought: str, answer: str) -> list[Event]:
    return [Start(name, name), Thinking(thought), ThinkingEnd(), Text(answer)]


def test_thinking_is_dim_and_the_answer_plain_below_a_head() -> None:
    screen = Multiplexer(coloured=True)
    assert screen.hear("a", PATH, _reply("small", "deep", "hello")) + screen.end("a") == (
        "\x1b[1m── #1 /v1/messages small ──\x1b[0m\n\x1b[2m  │ deep\x1b[0m\n\n  hello\n"
    )


def test_without_colours_a_line_at_the_left_sets_thinking_apart() -> None:
    screen = Multiplexer(coloured=False)
    assert screen.hear("a", PATH, _reply("small", "one\ntwo", "hello")) + screen.end("a") == (
        "── #1 /v1/messages small ──\n  │ one\n  │ two\n\n  hello\n"
    )


def test_words_are_printed_as_they_come() -> None:
    screen = Multiplexer(coloured=False)
    screen.hear("a", PATH, [Thinking("one")])
    assert [screen.hear("a", PATH, [Thinking(word)]) for word in (" two", " three")] == [
        " two",
        " three",
    ]


def test_a_reply_that_ends_while_another_is_printed_waits_for_its_end() -> None:
    screen = Multiplexer(coloured=False)
    first = screen.hear("a", PATH, [Start("a", "one"), Thinking("I")])
    assert screen.hear("b", PATH, _reply("two", "short", "done")) + screen.end("b") == ""
    assert (first, screen.hear("a", PATH, [Thinking(" go on")]), screen.end("a")) == (
        "── #1 /v1/messages one ──\n  │ I",
        " go on",
        "\n── #2 /v1/messages two ──\n  │ short\n\n  done\n",
    )
    assert screen.hear("c", PATH, [Text("c")]) == "── #3 /v1/messages ──\n  c"


def test_only_so_many_replies_wait() -> None:
    screen = Multiplexer(coloured=False)
    names = [str(number) for number in range(1, MOST_PRINTED + 4)]
    for name in names:
        screen.hear(name, PATH, [Text("words")])
        screen.hear(name, PATH, [Text(" more")])
    said = "".join(map(screen.end, names))
    assert said.count("words more") == said.count("──") // 2 == MOST_PRINTED
    after = screen.hear("last", PATH, [Text("words")])
    assert after.startswith(f"── #{len(names) + 1} ")


def test_when_the_terminal_is_free_the_oldest_that_waits_gets_it() -> None:
    screen = Multiplexer(coloured=False)
    for name in "abc":
        screen.hear(name, PATH, [Text(f"{name}1")])
    assert screen.end("a") == "\n── #2 /v1/messages ──\n  b1"
    assert screen.hear("c", PATH, [Text("c2")]) == ""
    assert screen.hear("b", PATH, [Text("b2")]) == "b2"
    assert screen.end("b") == "\n── #3 /v1/messages ──\n  c1c2"


def test_an_open_line_is_ended_once() -> None:
    screen = Multiplexer(coloured=True)
    screen.hear("a", PATH, [Thinking("I")])
    assert [screen.interrupt(), screen.interrupt()] == ["\n", ""]
    assert screen.hear("a", PATH, [Thinking(" am")]) == "\x1b[2m   am\x1b[0m"


def test_nothing_is_open_after_a_line_end() -> None:
    screen = Multiplexer(coloured=True)
    screen.hear("a", PATH, [Text("I"), Failure("gone")])
    assert screen.interrupt() == ""


def test_of_several_choices_the_first_is_printed() -> None:
    screen = Multiplexer(coloured=False)
    live = [
        screen.hear("a", PATH, [Text(f"x{number}", 0), Text(f"y{number}", 1)])
        for number in range(3)
    ]
    assert live[1:] == ["x1", "x2"]
    assert screen.end("a") == "\n"


def test_a_tool_call_is_printed_with_its_arguments_laid_out() -> None:
    screen = Multiplexer(coloured=False)
    screen.hear(
        "a", PATH, [ToolCall(0, "call_1", "weather", '{"city":'), ToolCall(0, "", "", '"Paris"}')]
    )
    assert screen.end("a").splitlines()[-4:] == [
        "  → weather call_1",
        "    {",
        '      "city": "Paris"',
        "    }",
    ]


HOSTILE: Sequence[Sequence[Event]] = (
    [Start("a", "\x1b[2J\x9b31m")],
    [Thinking("\x1b]0;title\x07\x9b2J\rover")],
    [Text("\x1b[31mred\x00\x7f\u202e")],
    [ToolCall(0, "\x1b[1m", "\x9b1m", '{"a": "\x1b[2J"}')],
    [Failure("\x1b[2J\x07")],
)


@pytest.mark.parametrize("events", HOSTILE)
def test_nothing_that_is_said_acts_on_the_terminal(events: Sequence[Event]) -> None:
    screen = Multiplexer(coloured=False)
    out = screen.hear("a", PATH + "\x1b[2J", [*events, Text("end")]) + screen.end("a")
    assert "end\n" in out
    assert not set(out) & set("\x1b\x07\x00\x7f\x9b\r\u202e")


def test_a_reply_that_says_nothing_prints_nothing() -> None:
    screen = Multiplexer(coloured=True)
    assert (
        screen.hear("a", PATH, [Start("a", "small"), Text("\n\n")])
        + screen.end("a")
        + screen.end("b")
        == ""
    )


def test_no_line_of_a_reply_passes_for_a_head_or_a_line_of_the_log() -> None:
    forged = "── #2 /v1/messages other ──"
    screen = Multiplexer(coloured=False, width=40)
    answer = "x" * 38 + forged + f"\n{forged}\n[12:00:00.123] think: done"
    said = screen.hear("a", PATH, [Text(answer)]) + screen.end("a")
    assert [line for line in said.splitlines() if not line.startswith("  ")] == [
        "── #1 /v1/messages ──"
    ]


def test_of_a_reply_that_waits_so_much_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiplexer, "PRINTED_LIMIT", 100)
    screen = Multiplexer(coloured=False)
    screen.hear("a", PATH, [Text("first")])
    for _ in range(50):
        screen.hear("b", PATH, [Text("a word\n")])
    screen.end("b")
    said = screen.end("a")
    assert len(said) < 200
    assert "(the rest is not printed)" in said


def _waiting(events: Sequence[Event], before_its_turn: Callable[[], None] = lambda: None) -> str:
    """What is printed of a reply that waited, when the one before it is over."""
    screen = Multiplexer(coloured=False)
    screen.hear("a", PATH, [Text("first")])
    for event in events:
        screen.hear("b", PATH, [event])
    screen.end("b")
    before_its_turn()
    return screen.end("a")


def test_a_reply_that_waits_has_its_margin_before_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Printed at once, however long it is: nobody waits for it to be cut into lines."""
    cut: list[str] = []
    feed = Margin.feed

    def noted(margin: Margin, text: str) -> str:
        cut.append(text)
        return feed(margin, text)

    monkeypatch.setattr(Margin, "feed", noted)
    said = _waiting([Text("你好 some words\n")] * 4_000, cut.clear)
    assert said.count("words") == 4_000
    assert sum(map(len, cut)) < 100


@pytest.mark.parametrize("kind", [Text, Thinking])
def test_of_a_frame_of_megabytes_only_the_beginning_is_printed_and_it_says_so(
    kind: type[Text | Thinking],
) -> None:
    screen = Multiplexer(coloured=False, width=80)
    said = screen.hear("a", PATH, [kind("x" * 3 * MOST_AT_ONCE), kind("y"), Text("z")])
    assert (said.count("x"), said.count("y")) == (MOST_AT_ONCE, 0)
    assert said.count("(the rest is not printed)") == 1
    assert "more" in screen.hear("a", PATH, [kind("more")])


def test_of_long_arguments_only_the_beginning_is_printed() -> None:
    screen = Multiplexer(coloured=False)
    call = ToolCall(0, "call_1", "f", '{"a":"' + "x " * 3 * MOST_AT_ONCE + '"}')
    said = screen.hear("a", PATH, [call, Finish("tool_calls")]) + screen.end("a")
    assert MOST_AT_ONCE / 2 - 9 < said.count("x") <= MOST_AT_ONCE / 2
    assert "(the rest is not printed)" in said


def test_all_of_a_reply_that_waits_is_no_more_than_the_terminal_takes() -> None:
    said = _waiting([Text("a word\n" * 100)] * 2_000)
    assert said.endswith("(the rest is not printed)\n")
    assert len(said) < TERMINAL_LIMIT
