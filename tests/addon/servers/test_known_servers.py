"""Facts about servers and models: their owners, and how long they are kept."""

import hashlib
from collections.abc import Callable, Mapping

import pytest

from converter.addon.servers import known_servers
from converter.addon.servers.initial_state import initial_state
from converter.addon.servers.known_servers import (
    MOST_LESSONS,
    BoundedDict,
    KnownServers,
    Lesson,
    Upstream,
    prompt_key,
    switches_as_json,
)
from converter.addon.servers.profiles import by_name
from converter.addon.servers.refusals import NATIVE_TRAITS, PICTURES, REFUSABLE, TOOL_CHOICE
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
    cache: KnownServers, body: Mapping[str, object], upstream: Upstream = HERE
) -> InitialState:
    return initial_state(cache.facts(upstream, body))


def test_a_new_server_has_no_facts() -> None:
    cache = KnownServers()
    assert cache.server(HERE) is None
    assert not cache.sends_thinking_field(HERE, "small")
    assert not cache.thinks(HERE, SMALL)
    assert not cache.has_prompt(prompt_key(HERE, SMALL))
    assert _begins(cache, SMALL) is TEXT


@pytest.mark.parametrize("other", ELSEWHERE, ids=str)
def test_what_a_server_is_holds_for_its_address_and_prefix(other: Upstream) -> None:
    cache = KnownServers()
    cache.learn_server(HERE, by_name("vllm"))
    assert cache.server(HERE) is by_name("vllm")
    assert cache.server(Upstream("http", "127.0.0.1", 8000)) is by_name("vllm")
    assert cache.server(other) is None


def test_a_server_takes_out_the_thinking_of_one_model() -> None:
    """Behind a router each model may have a server of its own."""
    cache = KnownServers()
    cache.learn_thinking_field(HERE, SMALL)
    assert cache.facts(HERE, SMALL).parses
    assert not cache.sends_thinking_field(HERE, "large")
    assert not cache.facts(HERE, LARGE).parses


@pytest.mark.parametrize("other", ELSEWHERE, ids=str)
def test_a_server_that_takes_thinking_out_is_one_address(other: Upstream) -> None:
    cache = KnownServers()
    cache.learn_thinking_field(HERE, SMALL)
    assert (
        cache.sends_thinking_field(HERE, "small"),
        cache.sends_thinking_field(other, "small"),
    ) == (True, False)


type Remember = Callable[[KnownServers], None]
BEGINS: dict[str, tuple[Remember, InitialState]] = {
    "takes thinking out": (lambda cache: cache.learn_thinking_field(HERE, SMALL), TEXT),
    "may repeat the opener": (lambda cache: cache.learn_repeated_opener(HERE), LIKELY),
}


@pytest.mark.parametrize(("remember", "begun"), BEGINS.values(), ids=BEGINS)
def test_a_servers_facts_decide_about_a_prompt_that_opens_a_thought(
    remember: Remember, begun: InitialState
) -> None:
    cache = KnownServers()
    cache.learn_prompt_state(HERE, SMALL, THINKING)
    assert _begins(cache, SMALL) is THINKING
    remember(cache)
    assert _begins(cache, SMALL) is begun
    assert _begins(cache, {**SMALL, "messages": []}) is begun
    cache.learn_initial_state(HERE, SMALL, THINKING)
    assert _begins(cache, SMALL) is THINKING


def test_a_server_that_repeats_openers_does_not_take_thinking_out() -> None:
    cache = KnownServers()
    cache.learn_repeated_opener(HERE)
    assert not cache.sends_thinking_field(HERE, "small")


@pytest.mark.parametrize("state", [TEXT, THINKING])
def test_a_prompt_holds_for_its_server_model_and_switch(state: InitialState) -> None:
    cache = KnownServers()
    cache.learn_prompt_state(HERE, SMALL, state)
    assert _begins(cache, LATER) is state
    assert cache.has_prompt(prompt_key(HERE, LATER))
    others = [cache.has_prompt(prompt_key(HERE, LARGE)), cache.has_prompt(prompt_key(HERE, OFF))]
    assert [*others, *(cache.has_prompt(prompt_key(other, SMALL)) for other in ELSEWHERE)] == [
        False
    ] * 6


def test_a_prompt_that_was_not_reported_is_not_requested_again() -> None:
    cache = KnownServers()
    cache.learn_prompt_state(HERE, SMALL, None)
    assert cache.has_prompt(prompt_key(HERE, SMALL))
    assert _begins(cache, SMALL) is TEXT


def test_a_correction_holds_for_its_server_model_and_switch() -> None:
    cache = KnownServers()
    cache.learn_initial_state(HERE, OFF, THINKING)
    assert _begins(cache, {**LATER, "reasoning_format": "none"}) is THINKING
    assert [_begins(cache, body) for body in (SMALL, {**OFF, "model": "large"})] == [TEXT] * 2
    assert [_begins(cache, OFF, other) for other in ELSEWHERE] == [TEXT] * 4


def test_the_last_correction_holds() -> None:
    cache = KnownServers()
    for state in (THINKING, TEXT):
        cache.learn_initial_state(HERE, {"model": "qwq-32b"}, state)
    assert _begins(cache, {"model": "qwq-32b"}) is TEXT


def test_a_model_that_thought_thinks_by_itself_whatever_the_switch() -> None:
    cache = KnownServers()
    cache.learn_thinking_model(HERE, SMALL)
    assert cache.thinks(HERE, LATER)
    assert cache.thinks(HERE, OFF)
    assert not cache.thinks(HERE, LARGE)
    assert [cache.thinks(other, SMALL) for other in ELSEWHERE] == [False] * 4


@pytest.mark.parametrize(("model", "thinks"), [("qwq-32b", True), ("DeepSeek-V3.1", False)])
def test_a_models_name_may_say_that_it_thinks(model: str, thinks: bool) -> None:
    assert KnownServers().thinks(HERE, {"model": model}) is thinks


ODD_NAMES: list[object] = [None, 7, ["small"], "\udcff", "a" * 100_000]


@pytest.mark.parametrize("model", ODD_NAMES, ids=lambda model: repr(model)[:20])
def test_any_name_is_remembered_in_a_few_bytes(model: object) -> None:
    cache = KnownServers()
    cache.learn_initial_state(HERE, {"model": model}, THINKING)
    assert _begins(cache, {"model": model}) is THINKING
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
    cache = KnownServers()
    chat = {**SMALL, **more, "stream_options": {"include_usage": True}}
    cache.learn_refusal(HERE, chat, frozenset({"field stream_options", "field seed"}))
    stream = {**chat, "stream": True, "seed": 1}
    assert cache.takes_field(HERE, stream, "stream_options") is takes
    spared = cache.without_refused_traits(HERE, stream, REFUSABLE)
    assert ("stream_options" in spared) is takes
    assert "seed" not in spared


def test_a_servers_own_endpoint_gets_all_but_the_choice_of_a_tool() -> None:
    cache = KnownServers()
    day = {"type": "string", "pattern": "a", "format": "date"}
    schema = {"type": "object", "properties": {"day": day}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    chat = {
        **SMALL,
        "seed": 1,
        "tools": [{"type": "function", "function": {"name": "log", "parameters": schema}}],
        "messages": [{"role": "user", "content": [picture]}],
    }
    names = frozenset({"field seed", "pattern", "format", PICTURES, TOOL_CHOICE})
    cache.learn_refusal(HERE, chat, names)
    own = cache.without_refused_traits(HERE, chat, NATIVE_TRAITS)
    spared = str(cache.without_refused_traits(HERE, chat, REFUSABLE))
    assert own == {**chat, "tool_choice": "none"}
    assert not any(word in spared for word in ("seed", "pattern", "format", "image_url"))


def test_another_server_at_an_address_begins_anew() -> None:
    cache = KnownServers()
    for server in ("vllm", "vllm", "sglang"):
        cache.learn_server(HERE, by_name(server))
        cache.learn_server(ELSEWHERE[0], by_name("vllm"))
        begins = _begins(cache, SMALL)
        for upstream in (HERE, ELSEWHERE[0]):
            cache.learn_initial_state(upstream, SMALL, THINKING)
    assert (begins, _begins(cache, SMALL, ELSEWHERE[0])) == (TEXT, THINKING)


def test_a_server_is_probed_again_after_some_time_or_doubt() -> None:
    now = [1000.0]
    cache = KnownServers(lambda: now[0])
    assert cache.needs_recognition(HERE, 600, 60)
    for certain, seconds in ((True, 600), (False, 60)):
        cache.learn_server(HERE, by_name("vllm"), certain)
        now[0] += seconds - 1
        assert not cache.needs_recognition(HERE, 600, 60)
        now[0] += 1
        assert cache.needs_recognition(HERE, 600, 60)
        assert cache.server(HERE) is by_name("vllm")
    cache.learn_server(HERE, by_name("vllm"))
    cache.doubt(HERE)
    assert cache.needs_recognition(HERE, 600, 60)


@pytest.mark.parametrize("certain", [True, False])
def test_an_unsure_server_is_probed_again_once_it_has_replied(certain: bool) -> None:
    cache = KnownServers()
    cache.doubt_if_uncertain(HERE)
    assert cache.server(HERE) is None
    cache.learn_server(HERE, by_name("generic"), certain)
    assert not cache.needs_recognition(HERE, 600, 60)
    cache.doubt_if_uncertain(HERE)
    assert cache.needs_recognition(HERE, 600, 60) is not certain


def test_a_prompt_that_a_reply_contradicts_is_to_be_requested_again() -> None:
    cache = KnownServers()
    cache.learn_prompt_state(HERE, SMALL, THINKING)
    cache.learn_initial_state(HERE, SMALL, LIKELY)
    assert cache.has_prompt(prompt_key(HERE, SMALL))
    cache.learn_initial_state(HERE, SMALL, TEXT)
    assert not cache.has_prompt(prompt_key(HERE, SMALL))
    assert _begins(cache, SMALL) is TEXT


def test_news_are_the_lessons_since_the_last_request_for_them() -> None:
    cache = KnownServers(iter(range(99)).__next__)
    cache.learn_server(HERE, by_name("vllm"))
    cache.learn_thinking_field(HERE, SMALL)
    assert cache.take_new_lessons(ELSEWHERE[0]) == {}
    assert cache.take_new_lessons(HERE) == {"server": Lesson(0, "vllm"), PARSES: Lesson(1, "")}
    cache.learn_thinking_field(HERE, SMALL)
    assert cache.take_new_lessons(HERE) == {}
    cache.learn_server(HERE, by_name("vllm"), certain=False)
    news = cache.take_new_lessons(HERE)
    assert news == {"server": Lesson(3, "vllm?")}
    cache.mark_as_new(HERE, news)
    assert cache.take_new_lessons(HERE) == news


def test_of_what_others_tell_the_later_word_holds() -> None:
    cache = KnownServers(lambda: 5.0)
    cache.learn_server(HERE, by_name("vllm"))
    cache.learn_thinking_field(HERE, SMALL)
    cache.take_new_lessons(HERE)
    cache.add_lessons(HERE, {"server": Lesson(4, "sglang"), "repeats": Lesson(9, "")})
    cache.add_lessons(ELSEWHERE[0], {PARSES: Lesson(9, "")})
    assert (cache.server(HERE), cache.sends_thinking_field(HERE, "small")) == (
        by_name("vllm"),
        True,
    )
    assert cache.sends_thinking_field(ELSEWHERE[0], "small")
    cache.add_lessons(HERE, {"server": Lesson(6, "sglang")})
    assert (cache.server(HERE), cache.sends_thinking_field(HERE, "small")) == (
        by_name("sglang"),
        False,
    )
    assert cache.take_new_lessons(HERE) == cache.take_new_lessons(ELSEWHERE[0]) == {}


def test_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_servers, "MOST_LESSONS", 3)
    kept: BoundedDict[str, int] = BoundedDict()
    for number, name in enumerate("abcad"):
        kept[name] = number
    assert dict(kept) == {"c": 2, "a": 3, "d": 4}


def test_no_memory_of_a_server_grows_without_end() -> None:
    cache = KnownServers()
    for number in range(MOST_LESSONS + 10):
        upstream, body = Upstream("http", f"host{number}", 80), {"model": str(number)}
        cache.learn_server(upstream, by_name("vllm"))
        cache.learn_repeated_opener(upstream)
        cache.learn_thinking_field(upstream, body)
        cache.learn_prompt_state(upstream, body, TEXT)
        cache.learn_initial_state(upstream, body, TEXT)
        cache.learn_thinking_model(upstream, body)
        refused = {**body, "tools": [{"function": {"parameters": {"pattern": "x"}}}]}
        cache.learn_refusal(upstream, refused, frozenset({"pattern", "pictures"}))
        cache.doubt(upstream)
    kept = [value for value in vars(cache).values() if isinstance(value, dict)]
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
        assert switches_as_json(switch) == switches_as_json(
            {**switch, "messages": [2], "temperature": 1}
        )
    assert len({switches_as_json(switch) for switch in SWITCHES}) == len(SWITCHES)


def test_the_order_in_which_switches_are_written_does_not_matter() -> None:
    one = {"chat_template_kwargs": {"thinking": True, "reasoning": True}, "think": True}
    other = {"think": True, "chat_template_kwargs": {"reasoning": True, "thinking": True}}
    assert switches_as_json(one) == switches_as_json(other)
