"""Staged breaks of a cached prompt, each named; and what is none."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from converter.addon.bounds import LONGEST_PROMPT
from converter.addon.servers.prompts import ask_to_think, describe_tools
from converter.extras.prompt_cache.prefix import KEPT_PROMPTS, Break, Prompt, Prompts, first_break

type Body = dict[str, Any]
REMINDER = "<system-reminder>Be brief.</system-reminder>\n"


def compare(prompts: Prompts, owner: str, body: Body, size: int) -> Break | None:
    before = prompts.replace_earlier(Prompt(owner, "a", body, size))
    return first_break(before.body, body) if before else None


def tool(name: str) -> Body:
    return {"type": "function", "function": {"name": name, "parameters": {}}}


def first() -> Body:
    return {
        "model": "m",
        "temperature": 0,
        "tools": [tool("read"), tool("write")],
        "messages": [
            {"role": "system", "content": "Today is 2026-11-23, 13:05.\ngitStatus: clean"},
            {"role": "user", "content": f"{REMINDER}Look at it."},
            {"role": "assistant", "content": "I do.", "reasoning_content": "Hm.\nWell."},
            {"role": "user", "content": "And?"},
        ],
    }


def after(change: Callable[[Body], object] = lambda _: None) -> Body:
    """The next request of that conversation."""
    body = copy.deepcopy(first())
    body["messages"] += [
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Go"},
    ]
    change(body)
    return body


def system(text: str) -> Callable[[Body], object]:
    return lambda body: body["messages"][0].update(content=text)


STAGED: dict[str, tuple[Callable[[Body], object], str, str]] = {
    "date": (system("Today is 2026-11-24, 13:05.\ngitStatus: clean"), "message 0 (system), character 18", "the date or the time"),
    "time": (system("Today is 2026-11-23, 13:06.\ngitStatus: clean"), "message 0 (system), character 25", "the date or the time"),
    "git status": (system("Today is 2026-11-23, 13:05.\ngitStatus: M a.py"), "message 0 (system), character 39", "git status"),
    "billing": (system("x-anthropic-billing-header: cch=2\nToday is 2026-11-23, 13:05.\ngitStatus: clean"), "message 0 (system), character 0", "a billing line, another in each request"),
    "system": (system("Be kind."), "message 0 (system), character 0", "another text"),
    "tools' order": (lambda body: body["tools"].reverse(), "tool write, character 43", "tool read stood there: other tools, or another order"),
    "a tool less": (lambda body: body["tools"].pop(), "message 0 (system), character 0", "tool write stood there: other tools, or another order"),
    "a tool's words": (lambda body: body["tools"][1]["function"].update(description="W"), "tool write, character 67", "the tool's description has changed"),
    "model": (lambda body: body.update(model="n"), "its head", "another model"),
    "asked to think": (lambda body: body.update(ask_to_think(body, 500) or {}), "message 0 (system), character 44", "the addon's text that asks to think"),
    "reminder": (lambda body: body["messages"][1].update(content="Look at it."), "message 1 (user), character 0", "a reminder that the client moves"),
    "thought": (lambda body: body["messages"][2].pop("reasoning_content"), "message 2 (assistant), character 5", "an earlier thought was left out or changed"),
}  # fmt: skip


@pytest.mark.parametrize("name", STAGED)
def test_a_break_is_named_with_its_offset(name: str) -> None:
    change, part, cause = STAGED[name]
    prompts = Prompts()
    assert compare(prompts, "me", first(), 100) is None
    difference = compare(prompts, "me", after(change), 100)
    assert difference
    assert (difference.part, difference.cause) == (part, cause)


@pytest.mark.parametrize(
    "change",
    [
        lambda _: None,
        lambda body: body.update(temperature=1, max_tokens=5),
        lambda body: body["messages"][1].update(
            content=[{"type": "text", "text": body["messages"][1]["content"]}]
        ),
    ],
    ids=["only more", "another temperature", "the same words in parts"],
)
def test_what_changes_no_word_of_the_prompt_breaks_nothing(
    change: Callable[[Body], object],
) -> None:
    prompts = Prompts()
    compare(prompts, "me", first(), 100)
    assert compare(prompts, "me", after(change), 100) is None


def test_a_cause_stands_where_the_prompts_part() -> None:
    far = "Run git status on 2026-11-23 first." + " Be brief." * 400
    before = {"messages": [{"role": "system", "content": f"{far} Say a."}]}
    now = {"messages": [{"role": "system", "content": f"{far} Say b."}]}
    difference = first_break(before, now)
    assert difference
    assert difference.cause == "another text"


def test_the_messages_and_the_responses_form_are_read() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    answer = {"type": "text", "text": "Yes.", "cache_control": {"type": "ephemeral"}}
    read = {"name": "read", "input_schema": {}}
    before = {
        "system": "Be kind.",
        "tools": [{**read, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "A?"}, {"role": "assistant", "content": [thought, answer]}],
    }  # fmt: skip
    more = {"role": "user", "content": "B?"}
    kept = {**before, "tools": [read], "messages": [*before["messages"], more]}
    dropped = {"role": "assistant", "content": [answer]}
    assert first_break(before, kept) is None, "no model reads where a cache ends"
    prompts = Prompts()
    compare(prompts, "me", before, 9)
    difference = compare(
        prompts, "me", {**kept, "messages": [before["messages"][0], dropped, more]}, 9
    )
    assert difference
    assert "thought" in difference.cause
    items = [{"role": "user", "content": "At 13:05: A?"}]
    compare(prompts, "me", {"input": items}, 9)
    late = [{"role": "user", "content": "At 13:06: A?"}, more]
    assert compare(prompts, "me", {"input": late}, 9)


@pytest.mark.parametrize("field", ["system", "instructions"])
def test_a_system_text_that_is_no_message_breaks_a_prompt(field: str) -> None:
    messages = [{"role": "user", "content": "A?"}]
    before = {field: "Today is 2026-11-23.", "input": messages}
    now = {field: "Today is 2026-11-24.", "input": [*messages, {"role": "user", "content": "B?"}]}
    difference = first_break(before, now)
    assert difference
    assert (difference.part, difference.cause) == (
        "the system text, character 18",
        "the date or the time",
    )


def test_the_request_to_think_comes_where_there_was_no_system_text() -> None:
    """The addon leaves them out as soon as it has seen the model think by itself."""
    bare = {"messages": first()["messages"][1:]}
    asking, plain = ask_to_think(bare, None), {"messages": after()["messages"][1:]}
    for one, other in ((asking, plain), (bare, ask_to_think(plain, None))):
        assert one
        assert other
        prompts = Prompts()
        compare(prompts, "me", one, 9)
        difference = compare(prompts, "me", other, 9)
        assert difference
        assert difference.mend == "think_prompt=off"


def test_tools_in_the_prompts_text_are_tools() -> None:
    one, other = (
        describe_tools(first()),
        describe_tools(after(lambda body: body["tools"].reverse())),
    )
    assert one
    assert other
    difference = first_break(one, other)
    assert difference
    assert difference.cause == "other tools written as text, or another order"


def test_another_conversation_or_owner_breaks_nothing() -> None:
    prompts = Prompts()
    compare(prompts, "me", first(), 100)
    late = after(system("Be kind."))
    assert compare(prompts, "you", late, 100) is None
    edited = after(lambda body: body["messages"][1].update(content="Look away."))
    assert compare(prompts, "me", edited, 100) is None
    assert compare(prompts, "me", {"messages": "none"}, 100) is None


def test_a_sub_agent_is_no_break_and_the_first_conversation_goes_on() -> None:
    prompts = Prompts()
    compare(prompts, "me", first(), 100)
    branch = {**first(), "messages": [{"role": "user", "content": "Find it."}]}
    assert compare(prompts, "me", branch, 100) is None
    assert compare(prompts, "me", after(system("Be kind.")), 100)


def test_what_the_server_has_cached_decides() -> None:
    difference = Break("message 0, character 3", "the date or the time", "mend it")
    message = "the cached prompt was broken at message 0, character 3: the date or the time"
    assert difference.message(None, None, None) == f"{message} (mend it)"
    assert difference.message(500, 1000, None) == f"{message} (mend it)"
    again = f"{message}; 910 of 1,000 tokens were read again (mend it)"
    assert difference.message(500, 1000, 90) == difference.message(None, 1000, 90) == again
    assert difference.message(500, 1000, 491) == again.replace("910", "509")
    assert difference.message(500, 1000, 492) == "", (
        "all of the earlier prompt but for the begun reply"
    )


def test_requests_are_kept_within_bounds() -> None:
    prompts = Prompts()
    compare(prompts, "me", first(), LONGEST_PROMPT + 1)
    assert compare(prompts, "me", after(system("Be kind.")), 1) is None, "too long to be kept"
    prompts = Prompts()
    compare(prompts, "me", first(), 100)
    for number in range(KEPT_PROMPTS):
        compare(prompts, "me", {"messages": [{"role": "user", "content": f"{number}"}]}, 1)
    assert compare(prompts, "me", after(system("Be kind.")), 1) is None, "the oldest has gone"
