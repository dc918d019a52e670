"""One question by four SDKs, through the addon, in neutral words."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import frames
from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.harness import Proxy, start_proxy
from tools.lab.asking import DIALECTS, SCHEMA, Answer, Question, ask

pytestmark = pytest.mark.slow
CALL = {
    "index": 0,
    "id": "call_7",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
}


@pytest.fixture
def server() -> Iterator[ByPathServer]:
    with ByPathServer(owned_by("vllm")) as server:
        yield server


@pytest.fixture
def proxy(server: ByPathServer, proxy_folder: Path) -> Iterator[Proxy]:
    with start_proxy([f"reverse:{server.address}"], [], proxy_folder, "asking") as proxy:
        yield proxy


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("streamed", [True, False])
def test_what_an_sdk_reads_is_told_in_neutral_words(
    server: ByPathServer, proxy: Proxy, dialect: str, streamed: bool
) -> None:
    port = proxy.ports[0]
    text, message = "<think>\nI add.\n</think>\n\n84", {"reasoning_content": "I look."}
    called = [
        frames.delta(reasoning_content="I look."),
        frames.delta(tool_calls=[CALL]),
        frames.finish("tool_calls"),
        frames.DONE,
    ]
    whole = frames.whole(None, tool_calls=[CALL], **message).replace(b'"stop"', b'"tool_calls"')
    replies = [
        Says(steps=frames.stream(text)) if streamed else Says(frames.whole(text)),
        Says(steps=called) if streamed else Says(whole),
        Says({"error": {"message": "no such model"}}, 404),
    ]
    server.rows[CHAT] = replies
    thought = ask(port, dialect, Question("12 * 7"), streamed)
    assert (thought.thinking.strip(), thought.text.strip()) == ("I add.", "84")
    assert thought.finish == "stop"
    call = ask(port, dialect, Question("weather?", tool=True, result=True), streamed)
    assert (call.thinking, call.calls) == ("I look.", [("get_weather", {"city": "Oslo"})])
    refused = ask(port, dialect, Question("12 * 7", model="x"), streamed)
    assert refused == Answer(error=refused.error)
    assert refused.error.startswith("404")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_schema_goes_to_the_server(server: ByPathServer, proxy: Proxy, dialect: str) -> None:
    server.rows[CHAT] = Says(frames.whole('{"city": "Oslo"}'))
    answer = ask(proxy.ports[0], dialect, Question("JSON", schema=True), streamed=False)
    assert answer.text == '{"city": "Oslo"}'
    assert server.bodies()[-1]["response_format"]["json_schema"]["schema"] == SCHEMA


@pytest.mark.parametrize("streamed", [True, False])
def test_each_choice_is_an_answer(server: ByPathServer, proxy: Proxy, streamed: bool) -> None:
    steps = [
        *(frames.delta(index, content=f"<think>a</think>{index}") for index in (1, 0)),
        *(frames.finish("stop", index) for index in (0, 1)),
        frames.DONE,
    ]
    body = json.loads(frames.whole("<think>a</think>0"))
    second = {**body["choices"][0], "index": 1}
    second["message"] = {"role": "assistant", "content": "<think>a</think>1"}
    whole = {**body, "choices": [body["choices"][0], second]}
    server.rows[CHAT] = Says(steps=steps) if streamed else Says(whole)
    first = ask(proxy.ports[0], "chat", Question("12 * 7", choices=2), streamed)
    assert [(each.thinking, each.text) for each in (first, *first.others)] == [
        ("a", "0"),
        ("a", "1"),
    ]
    assert server.bodies()[-1]["n"] == 2
