"""Findings from the replies of a server."""

import shlex

import pytest

from converter.addon.servers.probes import ProbeReply
from converter.addon.servers.profiles import GENERIC, by_name
from converter.core.dialects.table import ANTHROPIC, COMMON, DIALECTS
from converter.core.reading.families import TABLE
from converter.core.reading.family_choice import for_model
from converter.core.reading.rows import SUFFIX
from converter.extras.command.doctor import (
    Finding,
    conclusion,
    endpoints_finding,
    proxy_command,
    thinking_finding,
    tools_finding,
    window_finding,
)
from converter.extras.command.link import StreamedReply

pytestmark = pytest.mark.slow

LLAMA = by_name("llama.cpp")


def read(text: str, model: str = "small", server: str = "generic") -> Finding:
    return thinking_finding(
        StreamedReply(text=text), by_name(server), model, asks_for_thinking=False
    )


@pytest.mark.parametrize("family", TABLE, ids=lambda family: family.name)
def test_every_family_is_recognised_and_switched_on_where_it_is_not(family: object) -> None:
    assert isinstance(family, type(TABLE[0]))
    finding = read(f"{family.open}why{family.close}84".replace(SUFFIX, "ab12"))
    assert f"between {family.open.strip()} and {family.close.strip()}" in finding.text
    twin = next(row for row in TABLE if row.open == family.open)
    asks = twin.ambiguous_in_prose and twin not in for_model("small")
    assert finding.addon_options == (("think_tags=auto", f"think_tags={twin.name}") if asks else ())


def test_a_closer_alone_sets_the_initial_state_where_nobody_else_does() -> None:
    assert "the template has opened it" in read("why</think>84").text
    assert read("why</think>84").addon_options == ("think_start=thinking",)
    for server in ("vllm", "llama.cpp"):
        served = read("why</think>84", server=server)
        assert (served.addon_options, "so no option is needed" in served.text) == ((), True)
    guessed = read("why</think>84", model="DeepSeek-R1")
    assert (guessed.addon_options, "--set think_start=thinking" in guessed.text) == ((), True)


def test_a_tag_that_no_family_reads_is_shown_with_the_option_that_reads_it() -> None:
    assert read("<mythink>why</mythink>84").addon_options == (
        "think_tags=auto",
        "think_tags=<mythink> </mythink>",
    )
    assert read("[MY_THOUGHTS]why").addon_options[1] == "think_tags=[MY_THOUGHTS] [/MY_THOUGHTS]"
    assert read("<b>84</i>").addon_options == ()


@pytest.mark.parametrize(
    ("size", "short"), [(4096, ["Claude Code", "Codex"]), (32768, ["Claude Code"]), (65536, [])]
)
def test_a_context_that_agents_would_fill_is_shown_with_the_remedy(
    size: int, short: list[str]
) -> None:
    finding = window_finding(size, LLAMA)
    assert finding.is_fault is bool(short)
    assert ("start it with: llama-server -c 65536" in finding.text) is bool(short)
    assert all(("too few" in finding.text) and client in finding.text for client in short)


@pytest.mark.parametrize(
    ("streamed", "start", "wrong"),
    [
        (StreamedReply(called_tools=["get_weather"]), "as calls", False),
        (
            StreamedReply(text="<tool_call>{}</tool_call>"),
            "written into the text, with <tool_call>: the addon reads them",
            False,
        ),
        (
            StreamedReply(thinking_by_field={"reasoning": "<function=get_weather>"}),
            "written into the text, with <function=",
            False,
        ),
        (StreamedReply(refusal="no --jinja"), "refused: no --jinja", True),
        (
            StreamedReply(text="It rains."),
            "the model called no tool, though a fitting one was offered",
            False,
        ),
    ],
)
def test_how_tools_are_called(streamed: StreamedReply, start: str, wrong: bool) -> None:
    finding = tools_finding(streamed, GENERIC)
    assert finding.text.startswith(start)
    assert finding.is_fault is wrong
    started = "start it with: llama-server --jinja" in tools_finding(streamed, LLAMA).text
    assert started is (wrong or bool(finding.needed_by))


ALL = {
    dialect.requests.path: ProbeReply(400, {}, b"{}")
    for dialect in DIALECTS
    if dialect is not COMMON
}
MESSAGES = ANTHROPIC.requests.path
APART = thinking_finding(
    StreamedReply("", "84", {"reasoning": "why"}), GENERIC, "small", asks_for_thinking=False
)
CALLED = tools_finding(StreamedReply(called_tools=["f"]), GENERIC)


@pytest.mark.parametrize(
    ("replies", "needed"),
    [
        (ALL, ""),
        ({**ALL, MESSAGES: ProbeReply(404, {}, b"{}")}, f"clients of {ANTHROPIC.label.title}"),
        ({**ALL, MESSAGES: None}, f"clients of {ANTHROPIC.label.title}"),
        (
            {**ALL, MESSAGES: ProbeReply(200, {}, b"Unexpected endpoint")},
            f"clients of {ANTHROPIC.label.title}",
        ),
    ],
)
def test_who_needs_nothing_reads_so(replies: dict[str, ProbeReply | None], needed: str) -> None:
    line = conclusion([APART, CALLED, endpoints_finding(replies)])
    assert line.startswith("You do not need think-addon for this server and model, because")
    assert line.endswith(f"; you need it for {needed}." if needed else "arrive apart.")


def test_the_command_line_survives_the_shell_and_says_everything_once() -> None:
    rows = [read("<mythink>a</mythink>b"), read("<mythink>a</mythink>b"), Finding("server", "x")]
    arguments = shlex.split(proxy_command("http://localhost:8000", rows))
    assert arguments == [
        "think-addon",
        "http://localhost:8000",
        *["--set", "think_tags=auto"],
        *["--set", "think_tags=<mythink> </mythink>"],
    ]
