"""Codex itself, through the addon: on the small model, and with tools in front of a server that
plays a model.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Llama
from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.codex import Session, ask, install
from tests.support.frames import DONE, ROLE, USAGE, data, delta, finish, stream, text
from tests.support.harness import Proxy, start_proxy
from tests.support.npm import installed

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]

ENOUGH = "12 times 7 is 84."
ENFORCED = ("think_budget=enforce", "think_budget_tokens=1", f"think_enough={ENOUGH}")
type Ask = Callable[..., Session]
PATCH = "*** Begin Patch\n*** Add File: made.txt\n+hello\n*** End Patch\n"
PATCHING_MODEL = "gpt-5.5"
"""Codex offers apply_patch to models that it knows by name."""
WANTS = "Kimi-K3"
"""Its row says that it reads all earlier thoughts."""
OVERFLOW = {
    "error": {
        "code": 400,
        "message": "request (20000 tokens) exceeds the available context size (16384 tokens)",
        "type": "exceed_context_size_error",
    }
}
ANSWER = Says(steps=stream("<think>There it is.</think>", "It says hello."))


def calls(name: str, arguments: str, *, reason: str = "tool_calls") -> Says:
    """A thought, some words and a call."""
    function = {"name": name, "arguments": arguments}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    frames = text("<think>I should look.</think>", "Let me see.")
    return Says(steps=[ROLE, *frames, delta(tool_calls=[call]), finish(reason), USAGE, DONE])


@pytest.fixture(scope="session")
def program(request: pytest.FixtureRequest) -> Path:
    return installed(request, "Codex", install)


@pytest.fixture
def codex(program: Path, front_proxy: Proxy, model: ByPathServer, tmp_path: Path) -> Iterator[Ask]:
    """Ask it something; the server is the scripted one, whose replies come one after another."""
    assert not model.requests
    mark = front_proxy.mark()
    yield lambda prompt, **options: ask(program, front_proxy.ports[0], tmp_path, prompt, **options)
    front_proxy.check(mark)


def offered(body: dict[str, object]) -> list[str]:
    tools = body["tools"]
    assert isinstance(tools, list)
    return [tool["function"]["name"] for tool in tools]


@pytest.mark.parametrize("variant", ["tags", "extracted"])
def test_it_shows_thinking_and_answer_of_the_small_model(
    program: Path, llamas: dict[str, Llama], variant: str, tmp_path: Path
) -> None:
    session = ask(program, llamas[variant].port, tmp_path, "12 * 7", tools=False)
    assert session.status == 0, session
    assert {"reasoning", "agent_message"} <= {*session.kinds}
    # Codex sets no temperature, and its prompt is beyond this model: it may babble of a mark later
    begun = [item["text"].lstrip() for item in session.items if "text" in item]
    assert not [text for text in begun if text.startswith(("<think>", "</think>"))]
    assert (
        session.end["usage"]["output_tokens"] > session.end["usage"]["reasoning_output_tokens"] > 0
    )


def test_a_thought_of_the_small_model_is_ended_and_the_answer_comes(
    program: Path, llamas: dict[str, Llama], proxy_folder: Path, tmp_path: Path
) -> None:
    options = [part for setting in ENFORCED for part in ("--set", setting)]
    modes = [f"reverse:{llamas['tags'].address}"]
    with start_proxy(modes, options, proxy_folder, "codex-ended") as proxy:
        most = ['model_reasoning_effort = "high"']  # which allows any thought
        session = ask(program, proxy.ports[0], tmp_path, "12 * 7", settings=most, tools=False)
    # Codex sets no temperature: what follows the end of the thought is another each time
    assert session.kinds[0] == "reasoning", session
    assert session.items[0]["text"].endswith(f"\n\n{ENOUGH}")
    assert "a thought was ended behind 4 characters" in proxy.output


def test_it_runs_a_command_and_answers_with_what_it_gave(codex: Ask, model: ByPathServer) -> None:
    model.rows[CHAT] = [calls("exec_command", '{"cmd": "echo hello from a tool"}'), ANSWER]
    session = codex("Say hello.")
    assert session.kinds == ["reasoning", "agent_message", "command_execution", "reasoning", "agent_message"]  # fmt: skip
    ran = session.items[2]
    assert (ran["exit_code"], ran["aggregated_output"]) == (0, "hello from a tool\n")
    assert (session.status, session.items[-1]["text"]) == (0, "It says hello.")


def test_a_model_that_wants_its_thoughts_gets_each_once(codex: Ask, model: ByPathServer) -> None:
    model.rows[CHAT] = [calls("exec_command", '{"cmd": "echo hello from a tool"}'), ANSWER]
    codex("Say hello.", model=WANTS)
    model.rows[CHAT] = ANSWER
    codex("Again.", model=WANTS, resume=True)
    sent = [turn for turn in model.bodies()[-1]["messages"] if turn["role"] == "assistant"]
    assert [(turn["reasoning_content"], turn["content"]) for turn in sent] == [
        ("I should look.", "Let me see."),
        ("There it is.", "It says hello."),
    ]


def test_it_applies_a_patch_that_came_as_a_functions_argument(
    codex: Ask, model: ByPathServer
) -> None:
    model.rows[CHAT] = [calls("apply_patch", json.dumps({"input": PATCH})), ANSWER]
    session = codex("Make a file.", model=PATCHING_MODEL)
    assert "apply_patch" in offered(model.bodies()[0])
    assert session.kinds[2] == "file_change", session
    assert (session.folder / "made.txt").read_text() == "hello\n"


def test_it_calls_a_tool_of_an_mcp_server_by_its_namespace(codex: Ask, model: ByPathServer) -> None:
    def reply(_: object) -> Says:
        bodies = model.bodies()
        name = next(name for name in offered(bodies[0]) if name.endswith("echo"))
        return calls(name, '{"text": "hi"}') if len(bodies) == 1 else ANSWER

    model.rows[CHAT] = reply
    session = codex("Echo hi.")
    call = session.items[2]
    assert (call["type"], call["server"], call["tool"]) == ("mcp_tool_call", "echo", "echo"), (
        session
    )
    assert "echo: hi" in model.bodies()[1]["messages"][-1]["content"]


@pytest.mark.parametrize("reason", ["length", "tool_calls", "stop"])
def test_it_never_runs_a_call_that_was_cut(codex: Ask, model: ByPathServer, reason: str) -> None:
    cut = calls("exec_command", '{"cmd": "touch made.txt', reason=reason)
    model.rows[CHAT] = [cut, ANSWER]
    session = codex("Make a file.")
    if reason != "length":  # it asks again
        assert (session.status, session.items[-1]["text"]) == (0, "It says hello.")
    assert "command_execution" not in session.kinds
    assert not (session.folder / "made.txt").exists()


@pytest.mark.parametrize("provider", ["local", "OpenAI"])
@pytest.mark.parametrize(
    "overflow", [Says(OVERFLOW, 400), Says(steps=[data(OVERFLOW), DONE])], ids=["status", "stream"]
)
def test_after_an_overflow_it_compacts_and_goes_on(
    codex: Ask, model: ByPathServer, overflow: Says, provider: str
) -> None:
    """Codex asks for a summary in a message of its own, or for an item `compaction`."""
    summary = Says(steps=stream("<think>What matters?</think>", "The user likes tea."))
    model.rows[CHAT] = [ANSWER, overflow, summary, Says(steps=stream("Here is tea."))]
    codex("I like tea.", provider=provider)
    failed = codex("Now a long one.", resume=True, provider=provider)
    assert (failed.status, len(model.bodies())) == (1, 2), "it would not help to ask again"
    assert "context window" in failed.end["error"]["message"]
    session = codex("What do I like?", resume=True, provider=provider)
    assert (session.status, session.items[-1]["text"]) == (0, "Here is tea.")
    compacting, after = model.bodies()[2:]
    assert "tools" not in compacting
    texts = [str(message["content"]) for message in after["messages"]]
    joined = "".join(texts)
    assert "The user likes tea." in joined
    assert "What matters?" not in joined, "the summary is the answer without its thought"
    assert "It says hello." not in joined, "what was said before is gone"


@pytest.mark.parametrize(
    ("reply", "most"),
    [
        (Says({"error": {"message": "no such template"}}, 500), 1),
        (Says(steps=[ROLE, data({"error": {"message": "bad grammar", "type": "BadRequestError", "code": 400}}), DONE]), 1),
    ],
    ids=["status 500", "an error in the stream"],
)  # fmt: skip
def test_a_lasting_error_is_requested_once_and_keeps_the_servers_message(
    codex: Ask, model: ByPathServer, reply: Says, most: int
) -> None:
    model.rows[CHAT] = reply
    session = codex("Say hello.")
    lines = json.dumps(session.lines)
    assert "no such template" in lines or "bad grammar" in lines
    assert session.status == 1
    assert len(model.bodies()) == most
