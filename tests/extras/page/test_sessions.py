"""Sessions by their messages: turns, retries, side questions, sub-agents before their call."""

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


def user(content: str) -> Message:
    return {"role": "user", "content": content}


def says(content: str) -> Message:
    return {"role": "assistant", "content": content}


def chat_call(content: str) -> list[Message]:
    call = {"id": "1", "function": {"name": "task", "arguments": json.dumps({"prompt": content})}}
    return [{"role": "assistant", "tool_calls": [call]}]


def messages_call(content: str) -> list[Message]:
    """As Claude Code says it."""
    arguments = {"description": "fault", "subagent_type": "general-purpose", "prompt": content}
    block = {"type": "tool_use", "id": "1", "name": "Task", "input": arguments}
    return [{"role": "assistant", "content": [block]}]


def responses_call(content: str) -> list[Message]:
    """As Codex says it."""
    arguments = json.dumps({"agent_type": "worker", "items": [{"type": "text", "text": content}]})
    return [{"type": "function_call", "name": "spawn_agent", "arguments": arguments}]


class Listed:
    """Sessions, and all that they were listed."""

    def __init__(self) -> None:
        self.requested = dict[str, Messages]()
        self.reads = 0
        self.sessions = Sessions(self._read)

    def _read(self, exchange: str) -> Messages:
        self.reads += 1
        return self.requested[exchange]

    def add(
        self, name: str, *messages: Message, client: str = "agent", wish: str = ""
    ) -> list[str]:
        self.requested[name] = json.loads(json.dumps(messages))
        return self.sessions.add(name, client, self.requested[name], wish)

    def of(self, name: str) -> tuple[str, str]:
        session = self.sessions.session_of(name)
        assert session
        return session.name, session.parent_name


def test_a_conversation_that_grows_is_one_session() -> None:
    listed = Listed()
    turns = [SYSTEM, user("Hi")]
    for number in range(4):
        listed.add(f"t{number}", *turns)
        turns += [says(f"answer {number}"), user(f"question {number}")]
    assert {listed.of(f"t{number}") for number in range(4)} == {("t0", "")}
    assert listed.sessions.session_of("another") is None


def test_a_repeated_question_is_two_sessions_and_each_goes_on_by_its_answer() -> None:
    listed = Listed()
    listed.add("a", SYSTEM, user("Hi"))
    listed.add("a2", SYSTEM, user("Hi"), says("yes"), user("And?"))
    listed.add("b", SYSTEM, user("Hi"))
    listed.add("b2", SYSTEM, user("Hi"), says("no"), user("And?"))
    listed.add("a3", SYSTEM, user("Hi"), says("yes"), user("And?"), says("so"), user("Oh"))
    listed.add("b3", SYSTEM, user("Hi"), says("no"), user("And?"), says("so"), user("Oh"))
    assert [listed.of(name)[0] for name in ("a2", "a3", "b2", "b3")] == ["a", "a", "b", "b"]


def test_a_retry_and_a_side_question_stay_in_their_session() -> None:
    listed = Listed()
    listed.add("a", user("Hi"))
    listed.add("b", user("Hi"), says("1"), user("next"))
    listed.add("again", user("Hi"), says("1"), user("next"))
    listed.add("aside", user("Hi"), says("1"), user("next"), says("2"), user("Suggest a prompt"))
    listed.add("on", user("Hi"), says("1"), user("next"), says("2"), user("third"))
    assert {listed.of(name) for name in listed.requested} == {("a", "")}


def test_clients_are_kept_apart() -> None:
    listed = Listed()
    listed.add("a", user("Hi"), client="one")
    listed.add("b", user("Hi"), says("1"), user("next"), client="other")
    assert listed.of("b") == ("b", "")


@pytest.mark.parametrize("call", [chat_call, messages_call, responses_call])
def test_a_sub_agent_is_a_branch_once_its_call_is_read(call: Any) -> None:
    """The sub-agent's request comes before its call is in a request of its session."""
    listed = Listed()
    listed.add("main", user("Mend it"))
    task = [
        {"type": "text", "text": "<system-reminder>x</system-reminder>"},
        {"type": "text", "text": f"{TASK}\n"},
    ]
    listed.add("sub", SYSTEM, {"role": "user", "content": task})
    listed.add("sub2", SYSTEM, {"role": "user", "content": task}, says("Hm"), user("go"))
    assert listed.of("sub") == ("sub", "")
    assert listed.add("main2", user("Mend it"), *call(TASK), user("result")) == ["sub", "sub2"]
    assert listed.of("sub2") == ("sub", "main")
    listed.add("late", user(TASK))
    assert listed.of("late") == ("late", "main")
    assert listed.of("main2") == ("main", "")


def test_a_branch_of_a_branch_and_no_circle() -> None:
    listed = Listed()
    listed.add("main", user("Mend it"))
    listed.add("main2", user("Mend it"), *messages_call(TASK))
    listed.add("sub", user(TASK))
    listed.add("sub2", user(TASK), *messages_call("Deeper"), *messages_call("Mend it"))
    listed.add("deep", user("Deeper"))
    assert [listed.of(name)[1] for name in ("main", "sub", "deep")] == ["", "main", "sub"]


def test_a_title_is_below_its_session_whichever_comes_first() -> None:
    listed = Listed()
    listed.add("other", user("Mend"))
    listed.add("main", user("<system-reminder>x</system-reminder>"), user("Mend it"))
    wish = user("<session>\nMend it\n</session>\n\nWrite it.")
    assert listed.add("title", wish, wish=TITLE) == []
    early = user("<session>\nRead it\n</session>")
    listed.add("early", early, wish=TITLE)
    assert listed.of("early") == ("early", "")
    assert listed.add("late", user("Read it")) == ["early"]
    listed.add("alien", wish, wish=TITLE, client="another")
    assert [listed.of(name)[1] for name in ("title", "early", "alien")] == ["main", "late", ""]


def test_a_session_goes_on_behind_its_summary() -> None:
    listed = Listed()
    turns = [user("Mend it"), says("Hm"), user("go on"), says("So")]
    listed.add("main", *turns[:1])
    listed.add("sum", *turns, user("CONTEXT CHECKPOINT COMPACTION"), wish=COMPACTION)
    summary = user("Another language model started to solve this problem and produced a summary.")
    listed.add("on", user("Mend it, all of it"), summary)
    listed.add("further", user("Mend it, all of it"), summary, says("x"), user("y"))
    listed.add("again", summary)
    assert [listed.of(name)[0] for name in listed.requested] == [*["main"] * 4, "again"]


def test_another_clients_text_begins_no_branch() -> None:
    listed = Listed()
    listed.add("main", user("Mend it"), *messages_call(TASK))
    listed.add("other", user(TASK), client="chat")
    assert listed.of("other") == ("other", "")


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
    listed = Listed()
    talks = [[SYSTEM, user(f"agent {agent}")] for agent in range(10)]
    for turn in range(100):
        for agent, turns in enumerate(talks):
            listed.add(f"{agent}-{turn}", *turns)
            turns += [*messages_call(f"step {turn}"), user(f"result {turn}")]
    assert len({listed.of(name) for name in listed.requested}) == 10
    assert looked < 10 * len(listed.requested)
    assert listed.reads <= len(listed.requested)
