"""Claude Code itself, through the addon: on the small model, and with tools in front of a server
that plays a model.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Llama
from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.claude_code import NO_TOOLS, Session, ask, install
from tests.support.error_words import TOGETHER
from tests.support.frames import DONE, HEAD, ROLE, USAGE, data, delta, finish, stream, text
from tests.support.harness import TESTS, Proxy, start_proxy
from tests.support.npm import installed
from tests.support.tool_call_texts import WRITTEN

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]

type AskClaude = Callable[..., Session]
COMMAND = {"command": "echo hello from a tool", "description": "say hello"}
RUN = {
    "index": 0,
    "id": "call_1",
    "type": "function",
    "function": {"name": "Bash", "arguments": json.dumps(COMMAND)},
}
CALLS = [
    ROLE,
    *text("<think>I should look.</think>", "Let me see."),
    delta(tool_calls=[RUN]),
    finish("tool_calls"),
    USAGE,
    DONE,
]
ANSWERS = stream("<think>There it is.</think>", "It says hello.")
WANTS, UNKNOWN = "qwen3.6-tiny", "tiny-think"
"""Names of models: one that wants its earlier thoughts, and one of which nothing is known."""
CACHED = {"cache_prompt": True, "seed": 1}
WEATHER = "mcp__w__get_weather"
WEATHER_TOOL = TESTS / "support" / "weather_tool.py"
GRAMMAR = rf"""root ::= asks | answers
asks ::= "<think>\nThe user wants the weather in Oslo. I call {WEATHER}.\n</think>\n\n<tool_call>\n" call "\n</tool_call>"
call ::= "{{\"name\": \"{WEATHER}\", \"arguments\": {{\"city\": \"Oslo\"}}}}"
answers ::= "<think>\nThe tool" [^<]+ "</think>\n\n" [^<]+
"""
ENOUGH = "12 times 7 is 84."
ENFORCED = ("think_budget=enforce", "think_budget_tokens=10", f"think_enough={ENOUGH}")
ADAPTIVE = {"thinking": {"type": "adaptive"}, "temperature": 0}
"""In place of a budget of its own."""
NOTHING_RECEIVED = "no visible output"


@pytest.fixture(scope="session")
def program(request: pytest.FixtureRequest) -> Path:
    return installed(request, "Claude Code", install)


@pytest.fixture
def claude(
    program: Path, front_proxy: Proxy, model: ByPathServer, tmp_path: Path
) -> Iterator[AskClaude]:
    """Ask it something; the server is the scripted one, whose replies come one after another."""
    assert not model.requests
    mark = front_proxy.mark()
    yield lambda prompt, *arguments: ask(
        program, front_proxy.ports[0], tmp_path, prompt, *arguments
    )
    front_proxy.check(mark)


def named(steps: list[bytes], model: str = "tiny") -> Says:
    """A reply in which the server goes by another name."""
    return Says(
        steps=[
            step.replace(f'"model": "{HEAD["model"]}"'.encode(), f'"model": "{model}"'.encode())
            for step in steps
        ]
    )


def kinds(session: Session) -> list[str]:
    return [block["type"] for block in session.blocks]


@pytest.mark.parametrize("variant", ["tags", "extracted"])
def test_it_shows_thinking_and_answer_of_the_small_model(
    program: Path, llamas: dict[str, Llama], variant: str, tmp_path: Path
) -> None:
    session = ask(
        program, llamas[variant].port, tmp_path, "12 * 7", *NO_TOOLS
    )  # it has no seed: each answer is another
    assert (session.status, kinds(session)) == (0, ["thinking", "text"])
    assert "think>" not in json.dumps(session.blocks)
    assert session.end["result"] == session.blocks[1]["text"]
    assert session.end["usage"]["output_tokens"] > 0


def test_a_thought_of_the_small_model_is_ended_and_the_answer_comes(
    program: Path, llamas: dict[str, Llama], proxy_folder: Path, tmp_path: Path
) -> None:
    options = [part for setting in ENFORCED for part in ("--set", setting)]
    modes = [f"reverse:{llamas['tags'].address}"]
    with start_proxy(modes, options, proxy_folder, "claude-ended") as proxy:
        session = ask(program, proxy.ports[0], tmp_path, "12 * 7", *NO_TOOLS, body=ADAPTIVE)
        assert "a thought was ended behind" in proxy.output
    assert (session.status, kinds(session)) == (0, ["thinking", "text"])
    assert session.blocks[0]["thinking"].endswith(f"\n\n{ENOUGH}")
    assert session.end["result"] == session.blocks[1]["text"]
    assert session.end["usage"]["output_tokens"] > 5


@pytest.mark.parametrize(("name", "least", "most"), [(WANTS, 0, 2), (UNKNOWN, 20, 200)])
def test_the_real_servers_cache_holds_a_turn_whose_thought_came_back(
    program: Path, llamas: dict[str, Llama], tmp_path: Path, name: str, least: int, most: int
) -> None:
    """Claude Code sends thoughts back: a model that wants them reads none of its turn again."""
    more = {"body": {**CACHED, "temperature": 0}}
    arguments = [*NO_TOOLS, "--model", name]
    port = llamas["extracted"].port
    first = ask(program, port, tmp_path, "12 * 7", *arguments, **more).end["usage"]
    second = ask(program, port, tmp_path, "6 * 7", *arguments, "--continue", **more).end["usage"]
    had = sum(first[f"{part}_tokens"] for part in ("input", "cache_read_input", "output"))
    assert least <= had - second["cache_read_input_tokens"] <= most


def test_an_agent_calls_a_tool_and_answers_with_what_it_gave(
    claude: AskClaude, model: ByPathServer
) -> None:
    model.rows[CHAT] = [named(CALLS), named(ANSWERS)]
    session = claude("Say hello.", "--allowedTools", "Bash")
    assert kinds(session) == ["thinking", "text", "tool_use", "thinking", "text"]
    assert session.blocks[2]["input"] == COMMAND
    assert session.results[0]["content"] == "hello from a tool"
    assert (session.status, session.end["result"]) == (0, "It says hello.")


@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
@pytest.mark.parametrize("half", ['{"command": "touch made', '{"command": touch made}'])
def test_a_broken_call_is_not_run_and_the_model_gets_another_request(
    claude: AskClaude, model: ByPathServer, half: str, reason: str
) -> None:
    call = delta(tool_calls=[{**RUN, "function": {"name": "Bash", "arguments": half}}])
    steps = [ROLE, *text("Let me see."), call, finish(reason), USAGE, DONE]
    model.rows[CHAT] = [named(steps), named(ANSWERS)]
    session = claude("Make a file.", "--allowedTools", "Bash")
    assert "could not be parsed as JSON" in session.results[0]["content"]
    assert (session.status, session.end["result"]) == (0, "It says hello.")


@pytest.mark.parametrize("form", ["hermes", "json"])
def test_a_call_that_the_model_writes_into_its_text_is_one(
    claude: AskClaude, model: ByPathServer, form: str
) -> None:
    written = WRITTEN[form].write([("Bash", COMMAND)])
    pieces = [written[at : at + 5] for at in range(0, len(written), 5)]
    model.rows[CHAT] = [named(stream("<think>I should look.</think>", *pieces)), named(ANSWERS)]
    session = claude("Say hello.", "--allowedTools", "Bash")
    assert kinds(session) == ["thinking", "tool_use", "thinking", "text"]
    assert session.blocks[1]["input"] == COMMAND
    assert session.results[0]["content"] == "hello from a tool"
    assert (session.status, session.end["result"]) == (0, "It says hello.")


def test_it_works_on_a_server_that_knows_no_tools(
    program: Path, llamas: dict[str, Llama], proxy_folder: Path, tmp_path: Path
) -> None:
    """The small model itself: a grammar makes its replies, because Claude Code's prompt is beyond
    it, and the server gets the tool as text alone.
    """
    modes = [f"reverse:{llamas['tags'].address}"]
    tool = tmp_path / "tool.json"
    command = {"command": sys.executable, "args": [str(WEATHER_TOOL)]}
    tool.write_text(json.dumps({"mcpServers": {"w": command}}))
    arguments = ("--mcp-config", str(tool), "--strict-mcp-config", "--allowedTools", WEATHER)
    body = {"grammar": GRAMMAR, "temperature": 0}
    with start_proxy(modes, ["--set", "think_tools=told"], proxy_folder, "no-tools") as proxy:
        prompt = "What is the weather in Oslo?"
        session = ask(program, proxy.ports[0], tmp_path, prompt, *NO_TOOLS, *arguments, body=body)
    assert kinds(session) == ["thinking", "tool_use", "thinking", "text"]
    assert session.blocks[1]["name"] == WEATHER
    assert "21 degrees" in json.dumps(session.results)
    assert (session.status, bool(session.end["result"])) == (0, True)
    assert "1 call read from text: hermes" in proxy.output


def test_a_model_that_wants_its_thoughts_gets_each_once(
    claude: AskClaude, model: ByPathServer
) -> None:
    # two messages of one id are one to it when it reads its own history
    second = [step.replace(str(HEAD["id"]).encode(), b"chatcmpl-2") for step in ANSWERS]
    model.rows[CHAT] = [named(CALLS), named(second)]
    claude("Say hello.", "--allowedTools", "Bash", "--model", "Kimi-K3")
    model.rows[CHAT] = named(ANSWERS)
    claude("Again.", "--continue", "--model", "Kimi-K3")
    replies = [turn for turn in model.bodies()[-1]["messages"] if turn["role"] == "assistant"]
    assert [(turn["reasoning_content"], turn["content"]) for turn in replies] == [
        ("I should look.", "Let me see."),
        ("There it is.", "It says hello."),
    ]


def test_all_that_it_asks_beside_messages_stays_here(
    claude: AskClaude, model: ByPathServer
) -> None:
    model.rows[CHAT] = named(ANSWERS)
    claude("hi")
    allowed_paths = {"/v1/metadata", "/v1/models", "/version", "/api/version", CHAT}
    assert set(model.paths()) <= allowed_paths


# A reply that shows nothing: it asks again of its own accord, once, so such a reply is passed on as
# it is.

SILENT = {
    "thinking only": stream("<think>only a thought</think>"),
    "nothing": stream(),
    "blanks": stream("\n\n"),
}


@pytest.mark.parametrize("silent", SILENT.values(), ids=SILENT.keys())
def test_after_a_reply_that_shows_nothing_it_goes_on(
    claude: AskClaude, model: ByPathServer, silent: list[bytes]
) -> None:
    model.rows[CHAT] = [named(silent), named(ANSWERS)]
    session = claude("hi")
    assert NOTHING_RECEIVED in json.dumps(session.results)
    assert (session.status, session.end["result"]) == (0, "It says hello.")


# Errors.


def test_a_prompt_too_long_is_recognised(claude: AskClaude, model: ByPathServer) -> None:
    message = (
        "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"
    )
    model.rows[CHAT] = Says(
        {"error": {"code": 400, "message": message, "type": "exceed_context_size_error"}}, 400
    )
    session = claude("hi")
    assert session.status == 1
    assert session.end["result"].startswith("Prompt is too long")
    assert "5000 tokens (limit 4096)" in session.end["result"]


def test_where_prompt_and_reply_are_too_long_together_it_asks_for_a_shorter_reply(
    claude: AskClaude, model: ByPathServer
) -> None:
    """Claude Code compacts on: "input length and `max_tokens` exceed context limit: 5000 + 32000 >
    32768, decrease ...".
    """
    model.rows[CHAT] = [
        Says({"error": {"message": TOGETHER["vllm"], "code": 400}}, 400),
        named(ANSWERS),
    ]
    session = claude("hi")
    assert (session.status, session.end["result"]) == (0, "It says hello.")
    assert [body["max_tokens"] for body in model.bodies()] == [32000, 26768]


def test_a_reply_cut_short_before_any_content_is_requested_again(
    claude: AskClaude, model: ByPathServer
) -> None:
    model.rows[CHAT] = [named([ROLE]), named(ANSWERS)]
    session = claude("hi")
    assert (session.status, session.end["result"]) == (0, "It says hello.")
    assert [body.get("stream", False) for body in model.bodies()] == [True, False]


@pytest.mark.parametrize(
    "ending",
    [
        {"finish_reason": "length"},
        {"finish_reason": "stop", "stop_reason": "END"},
        {"finish_reason": "stop"},
    ],
    ids=["by its limit", "by a stop string", "nobody says by what"],
)
def test_a_call_that_was_cut_off_is_not_run(
    claude: AskClaude, model: ByPathServer, tmp_path: Path, ending: dict[str, str]
) -> None:
    created = tmp_path / "made"
    begun = {**RUN, "function": {"name": "Bash", "arguments": f'{{"command": "touch {created}'}}
    last = data({**HEAD, "choices": [{"index": 0, "delta": {}, **ending}]})
    cut = [ROLE, delta(tool_calls=[begun]), last, USAGE, DONE]
    model.rows[CHAT] = [named(cut), *[named(ANSWERS)] * 5]
    claude("Make a file.", "--allowedTools", "Bash")
    assert not created.exists()
