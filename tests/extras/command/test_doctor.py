"""`think-addon doctor`, against scripted servers and against llama.cpp."""

import json
import re
import shlex

import pytest

from converter.extras.command import link
from converter.extras.command.__main__ import main
from tests.conftest import Llama
from tests.support import frames
from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.rows import rows_of
from tests.support.scripted_server import ReceivedRequest

pytestmark = pytest.mark.slow

ROWS = rows_of(__file__)

TAGGED = "<think>I add.</think>84"
CALLED = b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"get_weather"}}]}}]}\n\n'


def served(
    *texts: str, owner: str = "vllm", calls: Says | None = None, rows: dict[str, Says] | None = None
) -> ByPathServer:
    """A server that gives these texts for questions, one after another, and calls a tool where there is one."""
    left = list(texts)

    def chat(request: ReceivedRequest) -> Says:
        if "tools" in json.loads(request.body):
            return calls or Says(steps=[CALLED])
        return Says(steps=frames.stream(left.pop(0) if len(left) > 1 else left[0]))

    return ByPathServer({**owned_by(owner), CHAT: chat, **(rows or {})})


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, str], str]:
    """The exit status, the lines by what they are about, and the command to copy."""
    status = main(["doctor", *arguments])
    lines, command, verdict = capsys.readouterr().out.rstrip("\n").split("\n\n")
    assert verdict.startswith(("You need think-addon for", "You do not need", "Whether"))
    return status, {line[2:12].rstrip(): line[12:] for line in lines.splitlines()}, command


def test_a_server_that_needs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    models = Says({"data": [{"id": "small", "owned_by": "vllm", "max_model_len": 131072}]})
    with served(TAGGED, rows={"/v1/models": models}) as server:
        status, lines, command = report(capsys, server.address)
    assert status == 0
    about = ["server", "models", "thinking", "context", "tools", "endpoints"]
    assert list(lines) == about
    assert lines["server"] == f"vllm at {server.address}"
    assert lines["models"] == "small"
    assert lines["thinking"].startswith("yes: in the text, between <think> and </think>")
    assert lines["context"] == "131,072 tokens: enough for Claude Code and Codex"
    assert lines["tools"] == "as calls"
    assert command == f"think-addon {server.address}"


def test_a_server_that_wants_a_key_gets_a_line_that_works(
    capsys: pytest.CaptureFixture[str],
) -> None:
    refused = Says({"error": "no key"}, 401)
    with served(TAGGED, rows={"/v1/models": refused, "/version": refused}) as server:
        assert main(["doctor", server.address]) == 1
        shown = capsys.readouterr()
        line = f"read -rs THINK_KEY && export THINK_KEY && think-addon doctor {server.address}"
        assert (shown.out, line in shown.err) == ("", True)


def test_what_a_user_must_do_is_marked_and_ends_in_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    unread = "<mythink>I add.</mythink>84"
    refusal = Says({"error": {"message": '"auto" tool choice requires --tool-call-parser'}}, 400)
    with served(unread, owner="organization_owner", calls=refusal) as server:
        status, lines, command = report(capsys, server.address)
    assert status == 1
    assert '"auto" tool choice requires --tool-call-parser' in lines["tools"]
    assert shlex.split(command)[2:] == [
        "--set",
        "think_tags=auto",
        "--set",
        "think_tags=<mythink> </mythink>",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"<tool_call>{json.dumps({'name': 'get_weather'})}</tool_call>", "reads them as text"),
        ("I cannot.", "called no tool"),
    ],
)
def test_a_server_without_a_parser_gets_the_addons_request_for_calls(
    capsys: pytest.CaptureFixture[str], text: str, expected: str
) -> None:
    """vLLM 0.32 refuses each request with tools, unless they are not to be chosen."""
    error = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'

    def chat(request: ReceivedRequest) -> Says:
        sent = json.loads(request.body)
        if "tools" not in sent:
            return Says(steps=frames.stream(TAGGED))
        refuses = sent.get("tool_choice") != "none"
        refusal = Says({"error": {"message": error}}, 400)
        return refusal if refuses else Says(steps=frames.stream(text))

    models = Says({"data": [{"id": "small", "owned_by": "vllm", "max_model_len": 131072}]})
    with ByPathServer({"/v1/models": models, CHAT: chat}) as server:
        status, lines, command = report(capsys, server.address)
    assert status == 0
    assert expected in lines["tools"]
    assert command == f"think-addon {server.address}"


def test_the_doctor_requests_thinking_where_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with served("84", TAGGED) as server:
        _, lines, _ = report(capsys, server.address)
        bodies = server.bodies()
    assert lines["thinking"].startswith("yes, when a client asks for it: in the text")
    assert "chat_template_kwargs" not in bodies[0]
    assert bodies[1]["chat_template_kwargs"]["enable_thinking"] is True


@pytest.mark.parametrize(
    ("owner", "rows"), ROWS["the context is read where each server reports it"]
)
def test_the_context_is_read_where_each_server_reports_it(
    capsys: pytest.CaptureFixture[str], owner: str, rows: dict[str, object]
) -> None:
    with served(
        TAGGED, owner=owner, rows={path: Says(body) for path, body in rows.items()}
    ) as server:
        _, lines, _ = report(capsys, server.address)
    assert lines["context"].startswith("8,192 tokens: too few")


def test_without_an_address_the_usual_ports_are_tried(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(TAGGED) as server:
        monkeypatch.setattr(link, "USUAL_PORTS", {server.server_port: "ours"})
        assert report(capsys)[1]["server"] == f"vllm at {server.address}"


@pytest.mark.parametrize(
    "name", ["tags", "extracted", "opened by the template", "opened by the template, extracted"]
)
def test_llama_is_understood_however_it_was_started(
    llamas: dict[str, Llama], capsys: pytest.CaptureFixture[str], name: str
) -> None:
    llama = llamas[name]
    status, lines, command = report(capsys, llama.address)
    assert lines["server"] == f"llama.cpp at {llama.address}"
    assert lines["models"] == "tiny-think"
    where = (
        "the server sends it apart, as `reasoning_content`"
        if "extracted" in name
        else "in the text, between <think> and </think>"
    )
    assert lines["thinking"].startswith(f"yes: {where}")
    assert re.match(
        r"4,096 tokens: too few for .*; start it with: llama-server -c 65536", lines["context"]
    )
    assert lines["tools"] == "as calls"
    assert (status, command) == (1, f"think-addon {llama.address}")
