"""What is remembered of servers and models, of whom, and for how long."""

import hashlib
from collections.abc import Callable, Mapping

import pytest

from converter.addon.servers import known_servers
from converter.addon.servers.initial_state import initial_state
from converter.addon.servers.known_servers import (
    MOST_LESSONS,
    Bounded,
    KnownServers,
    Lesson,
    Upstream,
    prompt_key,
    switch_of,
)
from converter.addon.servers.profiles import by_name
from converter.addon.servers.refusals import NATIVE_PARTS, PICTURES, REFUSABLE, TOOL_CHOICE
from converter.core.model.initial_state import InitialState
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

TEXT, THINKING = InitialState.TEXT, InitialState.THINKING
LIKELY = InitialState.LIKELY_THINKING
HERE = Upstream("http", "127.0.0.1", 8000)
ELSEWHERE = [
    Upstream("https", "127.0.0.1", 8000),
    Upstream("http", "127.0.0.2", 8000),
    Upstream("http", "127.0.0.1", 8001),
    Upstream("http", "127.0.0.1", 8000, "/inner"),
]
PARSES = f"parses {hashlib.sha256(b'small').hexdigest()}"
SMALL = {"model": "small", "messages": [{"role": "user", "content": "hi"}]}
LATER = {**SMALL, "messages": [], "temperature": 1}
LARGE = {**SMALL, "model": "large"}
OFF = {**SMALL, "reasoning_format": "none"}


def _begins(
    known: KnownServers, body: Mapping[str, object], upstream: Upstream = HERE
) -> InitialState:
    return initial_state(known.facts(upstream, body))


def test_nothing_is_known_at_first() -> None:
    known = KnownServers()
    assert known.server(HERE) is None
    assert not known.takes_thinking_out(HERE, "small")
    assert not known.thinks(HERE, SMALL)
    assert not known.has_prompt(prompt_key(HERE, SMALL))
    assert _begins(known, SMALL) is TEXT


@pytest.mark.parametrize("other", ELSEWHERE, ids=str)
def test_what_a_server_is_holds_for_its_address_and_prefix(other: Upstream) -> None:
    known = KnownServers()
    known.recognised(HERE, by_name("vllm"))
    assert known.server(HERE) is by_name("vllm")
    assert known.server(Upstream("http", "127.0.0.1", 8000)) is by_name("vllm")
    assert known.server(other) is None


def test_a_server_takes_out_the_thinking_of_one_model() -> None:
    """Behind a router each model may have a server of its own."""
    known = KnownServers()
    known.saw_thinking(HERE, SMALL)
    assert known.facts(HERE, SMALL).parses
    assert not known.takes_thinking_out(HERE, "large")
    assert not known.facts(HERE, LARGE).parses


@pytest.mark.parametrize("other", ELSEWHERE, ids=str)
def test_a_server_that_takes_thinking_out_is_one_address(other: Upstream) -> None:
    known = KnownServers()
    known.saw_thinking(HERE, SMALL)
    assert (known.takes_thinking_out(HERE, "small"), known.takes_thinking_out(other, "small")) == (
        True,
        False,
    )


type Remember = Callable[[KnownServers], None]
BEGINS: dict[str, tuple[Remember, InitialState]] = {
    "takes thinking out": (lambda known: known.saw_thinking(HERE, SMALL), TEXT),
    "may repeat the opener": (lambda known: known.saw_repeated_opener(HERE), LIKELY),
}


@pytest.mark.parametrize(("remember", "begun"), BEGINS.values(), ids=BEGINS)
def test_what_is_known_of_a_server_decides_about_a_prompt_that_opens_a_thought(
    remember: Remember, begun: InitialState
) -> None:
    known = KnownServers()
    known.saw_prompt(HERE, SMALL, THINKING)
    assert _begins(known, SMALL) is THINKING
    remember(known)
    assert _begins(known, SMALL) is begun
    assert _begins(known, {**SMALL, "messages": []}) is begun
    known.correct(HERE, SMALL, THINKING)
    assert _begins(known, SMALL) is THINKING


def test_a_server_that_repeats_openers_does_not_take_thinking_out() -> None:
    known = KnownServers()
    known.saw_repeated_opener(HERE)
    assert not known.takes_thinking_out(HERE, "small")


@pytest.mark.parametrize("state", [TEXT, THINKING])
def test_a_prompt_holds_for_its_server_model_and_switch(state: InitialState) -> None:
    known = KnownServers()
    known.saw_prompt(HERE, SMALL, state)
    assert _begins(known, LATER) is state
    assert known.has_prompt(prompt_key(HERE, LATER))
    others = [known.has_prompt(prompt_key(HERE, LARGE)), known.has_prompt(prompt_key(HERE, OFF))]
    assert [*others, *(known.has_prompt(prompt_key(other, SMALL)) for other in ELSEWHERE)] == [
        False
    ] * 6


def test_a_prompt_that_was_not_told_is_not_asked_for_again() -> None:
    known = KnownServers()
    known.saw_prompt(HERE, SMALL, None)
    assert known.has_prompt(prompt_key(HERE, SMALL))
    assert _begins(known, SMALL) is TEXT


def test_a_correction_holds_for_its_server_model_and_switch() -> None:
    known = KnownServers()
    known.correct(HERE, OFF, THINKING)
    assert _begins(known, {**LATER, "reasoning_format": "none"}) is THINKING
    assert [_begins(known, body) for body in (SMALL, {**OFF, "model": "large"})] == [TEXT] * 2
    assert [_begins(known, OFF, other) for other in ELSEWHERE] == [TEXT] * 4


def test_the_last_correction_holds() -> None:
    known = KnownServers()
    for state in (THINKING, TEXT):
        known.correct(HERE, {"model": "qwq-32b"}, state)
    assert _begins(known, {"model": "qwq-32b"}) is TEXT


def test_a_model_that_thought_thinks_by_itself_whatever_the_switch() -> None:
    known = KnownServers()
    known.saw_thought(HERE, SMALL)
    assert known.thinks(HERE, LATER)
    assert known.thinks(HERE, OFF)
    assert not known.thinks(HERE, LARGE)
    assert [known.thinks(other, SMALL) for other in ELSEWHERE] == [False] * 4


@pytest.mark.parametrize(("model", "thinks"), [("qwq-32b", True), ("DeepSeek-V3.1", False)])
def test_a_models_name_may_say_that_it_thinks(model: str, thinks: bool) -> None:
    assert KnownServers().thinks(HERE, {"model": model}) is thinks


ODD_NAMES: list[object] = [None, 7, ["small"], "\udcff", "a" * 100_000]


@pytest.mark.parametrize("model", ODD_NAMES, ids=lambda model: repr(model)[:20])
def test_any_name_is_remembered_in_a_few_bytes(model: object) -> None:
    known = KnownServers()
    known.correct(HERE, {"model": model}, THINKING)
    assert _begins(known, {"model": model}) is THINKING
    assert len(prompt_key(HERE, {"model": model})[1]) == 64


def test_a_name_and_a_switch_are_not_mixed_up() -> None:
    keys = [prompt_key(HERE, {"model": "a{}"}), prompt_key(HERE, {"model": "a"})]
    assert keys[0] != keys[1]


@pytest.mark.parametrize(
    ("more", "takes"), [({}, True), ({"stream": False}, True), ({"stream": True}, False)]
)
def test_counts_that_no_whole_reply_has_are_refused_to_no_stream(
    more: dict[str, object], takes: bool
) -> None:
    known = KnownServers()
    asked = {**SMALL, **more, "stream_options": {"include_usage": True}}
    known.saw_refusal(HERE, asked, frozenset({"field stream_options", "field seed"}))
    stream = {**asked, "stream": True, "seed": 1}
    assert known.takes(HERE, stream, "stream_options") is takes
    spared = known.spared(HERE, stream, REFUSABLE)
    assert ("stream_options" in spared) is takes
    assert "seed" not in spared


def test_a_servers_own_endpoint_gets_all_but_the_choice_of_a_tool() -> None:
    known = KnownServers()
    schema = {"type": "object", "properties": {"day": {"type": "string", "pattern": "a"}}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    chat = {
        **SMALL,
        "seed": 1,
        "tools": [{"type": "function", "function": {"name": "log", "parameters": schema}}],
        "messages": [{"role": "user", "content": [picture]}],
    }
    names = frozenset({"field seed", "pattern", PICTURES, TOOL_CHOICE})
    known.saw_refusal(HERE, chat, names)
    assert known.spared(HERE, chat, NATIVE_PARTS) == {**chat, "tool_choice": "none"}
    spared = str(known.spared(HERE, chat, REFUSABLE))
    assert not any(word in spared for word in ("seed", "pattern", "image_url"))


def test_another_server_at_an_address_begins_anew() -> None:
    known = KnownServers()
    for server in ("vllm", "vllm", "sglang"):
        known.recognised(HERE, by_name(server))
        known.recognised(ELSEWHERE[0], by_name("vllm"))
        begins = _begins(known, SMALL)
        for upstream in (HERE, ELSEWHERE[0]):
            known.correct(upstream, SMALL, THINKING)
    assert (begins, _begins(known, SMALL, ELSEWHERE[0])) == (TEXT, THINKING)


def test_what_a_server_is_is_asked_again_after_some_time_or_doubt() -> None:
    now = [1000.0]
    known = KnownServers(lambda: now[0])
    assert known.is_due(HERE, 600, 60)
    for certain, seconds in ((True, 600), (False, 60)):
        known.recognised(HERE, by_name("vllm"), certain)
        now[0] += seconds - 1
        assert not known.is_due(HERE, 600, 60)
        now[0] += 1
        assert known.is_due(HERE, 600, 60)
        assert known.server(HERE) is by_name("vllm")
    known.recognised(HERE, by_name("vllm"))
    known.doubt(HERE)
    assert known.is_due(HERE, 600, 60)


@pytest.mark.parametrize("certain", [True, False])
def test_an_unsure_server_is_asked_again_once_it_has_replied(certain: bool) -> None:
    known = KnownServers()
    known.answered(HERE)
    assert known.server(HERE) is None
    known.recognised(HERE, by_name("generic"), certain)
    assert not known.is_due(HERE, 600, 60)
    known.answered(HERE)
    assert known.is_due(HERE, 600, 60) is not certain


def test_a_prompt_that_a_reply_contradicts_is_to_be_asked_for_again() -> None:
    known = KnownServers()
    known.saw_prompt(HERE, SMALL, THINKING)
    known.correct(HERE, SMALL, LIKELY)
    assert known.has_prompt(prompt_key(HERE, SMALL))
    known.correct(HERE, SMALL, TEXT)
    assert not known.has_prompt(prompt_key(HERE, SMALL))
    assert _begins(known, SMALL) is TEXT


def test_news_are_what_was_learnt_since_they_were_asked_for() -> None:
    known = KnownServers(iter(range(99)).__next__)
    known.recognised(HERE, by_name("vllm"))
    known.saw_thinking(HERE, SMALL)
    assert known.news(ELSEWHERE[0]) == {}
    assert known.news(HERE) == {"server": Lesson(0, "vllm"), PARSES: Lesson(1, "")}
    known.saw_thinking(HERE, SMALL)
    assert known.news(HERE) == {}
    known.recognised(HERE, by_name("vllm"), certain=False)
    news = known.news(HERE)
    assert news == {"server": Lesson(3, "vllm?")}
    known.untold(HERE, news)
    assert known.news(HERE) == news


def test_of_what_others_tell_the_later_word_holds() -> None:
    known = KnownServers(lambda: 5.0)
    known.recognised(HERE, by_name("vllm"))
    known.saw_thinking(HERE, SMALL)
    known.news(HERE)
    known.take(HERE, {"server": Lesson(4, "sglang"), "repeats": Lesson(9, "")})
    known.take(ELSEWHERE[0], {PARSES: Lesson(9, "")})
    assert (known.server(HERE), known.takes_thinking_out(HERE, "small")) == (by_name("vllm"), True)
    assert known.takes_thinking_out(ELSEWHERE[0], "small")
    known.take(HERE, {"server": Lesson(6, "sglang")})
    assert (known.server(HERE), known.takes_thinking_out(HERE, "small")) == (
        by_name("sglang"),
        False,
    )
    assert known.news(HERE) == known.news(ELSEWHERE[0]) == {}


def test_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_servers, "MOST_LESSONS", 3)
    kept: Bounded[str, int] = Bounded()
    for number, name in enumerate("abcad"):
        kept[name] = number
    assert dict(kept) == {"c": 2, "a": 3, "d": 4}


def test_no_memory_of_a_server_grows_without_end() -> None:
    known = KnownServers()
    for number in range(MOST_LESSONS + 10):
        upstream, body = Upstream("http", f"host{number}", 80), {"model": str(number)}
        known.recognised(upstream, by_name("vllm"))
        known.saw_repeated_opener(upstream)
        known.saw_thinking(upstream, body)
        known.saw_prompt(upstream, body, TEXT)
        known.correct(upstream, body, TEXT)
        known.saw_thought(upstream, body)
        refused = {**body, "tools": [{"function": {"parameters": {"pattern": "x"}}}]}
        known.saw_refusal(upstream, refused, frozenset({"pattern", "pictures"}))
        known.doubt(upstream)
    kept = [value for value in vars(known).values() if isinstance(value, dict)]
    assert [len(each) for each in kept] == [MOST_LESSONS] * 3


@pytest.mark.parametrize(
    ("upstream", "written"),
    [
        (HERE, "http://127.0.0.1:8000"),
        (Upstream("https", "::1", 443, "/inner"), "https://[::1]:443/inner"),
    ],
)
def test_an_upstream_is_written_as_its_address(upstream: Upstream, written: str) -> None:
    assert str(upstream) == written


SWITCHES: list[dict[str, object]] = ROWS["switches"]


def test_requests_with_the_same_switches_begin_alike() -> None:
    for switch in SWITCHES:
        assert switch_of(switch) == switch_of({**switch, "messages": [2], "temperature": 1})
    assert len({switch_of(switch) for switch in SWITCHES}) == len(SWITCHES)


def test_the_order_in_which_switches_are_written_does_not_matter() -> None:
    one = {"chat_template_kwargs": {"thinking": True, "reasoning": True}, "think": True}
    other = {"think": True, "chat_template_kwargs": {"reasoning": True, "thinking": True}}
    assert switch_of(one) == switch_of(other)
