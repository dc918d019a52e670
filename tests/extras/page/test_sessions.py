"""Sessions are found by their words: turns, retries, side questions, sub-agents before and after
their call is read.
"""

import json
from typing import Any

import pytest

from converter.core.model import raw_messages
from converter.core.model.housekeeping import COMPACTION, TITLE
from converter.extras.page import sessions as rooms
from converter.extras.page.sessions import Messages, Sessions

type Message = dict[str, Any]
SYSTEM = {"role": "system", "content": "Today is 2026-11-23."}
TASK = "Look for the fault in b.py and tell where it is."


def user(words: str) -> Message:
    return {"role": "user", "content": words}


def says(words: str) -> Message:
    return {"role": "assistant", "content": words}


def chat_call(words: str) -> list[Message]:
    call = {"id": "1", "function": {"name": "task", "arguments": json.dumps({"prompt": words})}}
    return [{"role": "assistant", "tool_calls": [call]}]


def messages_call(words: str) -> list[Message]:
    """As Claude Code says it."""
    given = {"description": "fault", "subagent_type": "general-purpose", "prompt": words}
    block = {"type": "tool_use", "id": "1", "name": "Task", "input": given}
    return [{"role": "assistant", "content": [block]}]


def responses_call(words: str) -> list[Message]:
    """As Codex says it."""
    given = json.dumps({"agent_type": "worker", "items": [{"type": "text", "text": words}]})
    return [{"type": "function_call", "name": "spawn_agent", "arguments": given}]


class Told:
    """Sessions, and all that they were told."""

    def __init__(self) -> None:
        self.asked = dict[str, Messages]()
        self.reads = 0
        self.sessions = Sessions(self._read)

    def _read(self, exchange: str) -> Messages:
        self.reads += 1
        return self.asked[exchange]

    def add(
        self, name: str, *messages: Message, client: str = "agent", wish: str = ""
    ) -> list[str]:
        self.asked[name] = json.loads(json.dumps(messages))
        return self.sessions.add(name, client, self.asked[name], wish)

    def of(self, name: str) -> tuple[str, str]:
        session = self.sessions.of(name)
        assert session
        return session.name, session.within


def test_a_conversation_that_grows_is_one_session() -> None:
    told = Told()
    turns = [SYSTEM, user("Hi")]
    for number in range(4):
        told.add(f"t{number}", *turns)
        turns += [says(f"answer {number}"), user(f"question {number}")]
    assert {told.of(f"t{number}") for number in range(4)} == {("t0", "")}
    assert told.sessions.of("another") is None


def test_a_question_asked_twice_is_two_sessions_and_each_goes_on_by_its_answer() -> None:
    told = Told()
    told.add("a", SYSTEM, user("Hi"))
    told.add("a2", SYSTEM, user("Hi"), says("yes"), user("And?"))
    told.add("b", SYSTEM, user("Hi"))
    told.add("b2", SYSTEM, user("Hi"), says("no"), user("And?"))
    told.add("a3", SYSTEM, user("Hi"), says("yes"), user("And?"), says("so"), user("Oh"))
    told.add("b3", SYSTEM, user("Hi"), says("no"), user("And?"), says("so"), user("Oh"))
    assert [told.of(name)[0] for name in ("a2", "a3", "b2", "b3")] == ["a", "a", "b", "b"]


def test_a_retry_and_a_side_question_stay_in_their_session() -> None:
    told = Told()
    told.add("a", user("Hi"))
    told.add("b", user("Hi"), says("1"), user("next"))
    told.add("again", user("Hi"), says("1"), user("next"))
    told.add("aside", user("Hi"), says("1"), user("next"), says("2"), user("Suggest a prompt"))
    told.add("on", user("Hi"), says("1"), user("next"), says("2"), user("third"))
    assert {told.of(name) for name in told.asked} == {("a", "")}


def test_clients_are_kept_apart() -> None:
    told = Told()
    told.add("a", user("Hi"), client="one")
    told.add("b", user("Hi"), says("1"), user("next"), client="other")
    assert told.of("b") == ("b", "")


@pytest.mark.parametrize("call", [chat_call, messages_call, responses_call])
def test_a_sub_agent_is_a_branch_once_its_call_is_read(call: Any) -> None:
    """It asks before the call stands in a request of the session that made it."""
    told = Told()
    told.add("main", user("Mend it"))
    task = [
        {"type": "text", "text": "<system-reminder>x</system-reminder>"},
        {"type": "text", "text": f"{TASK}\n"},
    ]
    told.add("sub", SYSTEM, {"role": "user", "content": task})
    told.add("sub2", SYSTEM, {"role": "user", "content": task}, says("Hm"), user("go"))
    assert told.of("sub") == ("sub", "")
    assert told.add("main2", user("Mend it"), *call(TASK), user("result")) == ["sub", "sub2"]
    assert told.of("sub2") == ("sub", "main")
    told.add("late", user(TASK))
    assert told.of("late") == ("late", "main")
    assert told.of("main2") == ("main", "")


def test_a_branch_of_a_branch_and_no_circle() -> None:
    told = Told()
    told.add("main", user("Mend it"))
    told.add("main2", user("Mend it"), *messages_call(TASK))
    told.add("sub", user(TASK))
    told.add("sub2", user(TASK), *messages_call("Deeper"), *messages_call("Mend it"))
    told.add("deep", user("Deeper"))
    assert [told.of(name)[1] for name in ("main", "sub", "deep")] == ["", "main", "sub"]


def test_a_title_is_below_its_session_whichever_comes_first() -> None:
    told = Told()
    told.add("other", user("Mend"))
    told.add("main", user("<system-reminder>x</system-reminder>"), user("Mend it"))
    wish = user("<session>\nMend it\n</session>\n\nWrite it.")
    assert told.add("title", wish, wish=TITLE) == []
    early = user("<session>\nRead it\n</session>")
    told.add("early", early, wish=TITLE)
    assert told.of("early") == ("early", "")
    assert told.add("late", user("Read it")) == ["early"]
    told.add("alien", wish, wish=TITLE, client="another")
    assert [told.of(name)[1] for name in ("title", "early", "alien")] == ["main", "late", ""]


def test_a_session_goes_on_behind_its_summary() -> None:
    told = Told()
    turns = [user("Mend it"), says("Hm"), user("go on"), says("So")]
    told.add("main", *turns[:1])
    told.add("sum", *turns, user("CONTEXT CHECKPOINT COMPACTION"), wish=COMPACTION)
    summary = user("Another language model started to solve this problem and produced a summary.")
    told.add("on", user("Mend it, all of it"), summary)
    told.add("further", user("Mend it, all of it"), summary, says("x"), user("y"))
    told.add("again", summary)
    assert [told.of(name)[0] for name in told.asked] == [*["main"] * 4, "again"]


def test_another_clients_words_begin_no_branch() -> None:
    told = Told()
    told.add("main", user("Mend it"), *messages_call(TASK))
    told.add("other", user(TASK), client="chat")
    assert told.of("other") == ("other", "")


def test_the_work_is_linear_in_the_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,000 exchanges of ten agents with 100 turns each: of a turn only what is new is looked at."""
    looked = 0
    plain = raw_messages.fingerprint_of

    def counted(message: object) -> str:
        nonlocal looked
        looked += 1
        return plain(message)

    monkeypatch.setattr(raw_messages, "fingerprint_of", counted)
    monkeypatch.setattr(rooms, "fingerprint_of", counted)
    told = Told()
    talks = [[SYSTEM, user(f"agent {agent}")] for agent in range(10)]
    for turn in range(100):
        for agent, turns in enumerate(talks):
            told.add(f"{agent}-{turn}", *turns)
            turns += [*messages_call(f"step {turn}"), user(f"result {turn}")]
    assert len({told.of(name) for name in told.asked}) == 10
    assert looked < 10 * len(told.asked)
    assert told.reads <= len(told.asked)
