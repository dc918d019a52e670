"""Probes of servers: each is driven by hand, against servers that are tables of path and answer."""

import json
from collections.abc import Mapping

import pytest

from converter.addon.servers.probes import (
    IDENTITY_PATHS,
    Probe,
    ProbeReply,
    ProbeRequest,
    count_tokens,
    estimate_tokens,
    is_certain,
    prompt_pieces,
    prompt_state,
    recognise_server,
)
from converter.addon.servers.profiles import GENERIC, SERVERS, Server, by_name
from converter.core.model.initial_state import InitialState
from converter.core.wire import json_text

type Answers = Mapping[str, ProbeReply]

TEXT, THINKING = InitialState.TEXT, InitialState.THINKING
NOT_FOUND = ProbeReply(404, {}, b'{"detail":"Not Found"}')
BROKEN = ProbeReply(500, {}, b'{"data":[{"id":"m","owned_by":"vllm"}],"version":"1"}')


def _ok(value: object, **headers: str) -> ProbeReply:
    return ProbeReply(
        200, headers, value if isinstance(value, bytes) else json.dumps(value).encode()
    )


def _models(*models: object, **headers: str) -> ProbeReply:
    return _ok({"object": "list", "data": list(models)}, **headers)


def _probed[Result](
    question: Probe[Result], answers: Answers, otherwise: ProbeReply | None = NOT_FOUND
) -> tuple[Result, list[ProbeRequest]]:
    """Return the probe's result, and the requests that it sent."""
    asks: list[ProbeRequest] = []
    reply: ProbeReply | None = None
    while True:
        try:
            asks.append(question.send(reply))
        except StopIteration as settled:
            result: Result = settled.value
            return result, asks
        reply = answers.get(asks[-1].path, otherwise)


def _recognised(answers: Answers, otherwise: ProbeReply | None = NOT_FOUND) -> str | None:
    server = recognise_server({path: answers.get(path, otherwise) for path in IDENTITY_PATHS})
    return server.name if server else None


VLLM = {
    "id": "m",
    "object": "model",
    "created": 1,
    "owned_by": "vllm",
    "root": "m",
    "max_model_len": 2048,
}
VERSION = _ok({"version": "0.32.0"})
REAL: dict[str, tuple[str, Answers]] = {
    "nim": (
        "nim",
        {"/v1/metadata": _ok({"assetInfo": [], "modelInfo": [{"shortName": "m", "modelUrl": ""}]})},
    ),
    "nim with vLLM inside": (
        "nim",
        {"/v1/metadata": _ok({"modelInfo": []}), "/v1/models": _models(VLLM), "/version": VERSION},
    ),
    "vllm": ("vllm", {"/v1/models": _models(VLLM, server="uvicorn"), "/version": VERSION}),
    "vllm whose models have an owner": (
        "vllm",
        {"/v1/models": _models({"id": "m", "owned_by": "us"}), "/version": VERSION},
    ),
    "vllm with an adapter listed first": (
        "vllm",
        {"/v1/models": _models({"id": "lora", "parent": "m"}, VLLM)},
    ),
    "sglang": (
        "sglang",
        {"/v1/models": _models({"id": "m", "object": "model", "owned_by": "sglang"})},
    ),
    "llama.cpp": (
        "llama.cpp",
        {"/v1/models": _models({"id": "m.gguf", "owned_by": "llamacpp"}, server="llama.cpp")},
    ),
    "llama.cpp behind a gateway": (
        "llama.cpp",
        {"/v1/models": _models({"id": "m", "owned_by": "llamacpp"}, server="nginx")},
    ),
    "llama.cpp that wants a key": (
        "llama.cpp",
        {"/v1/models": ProbeReply(401, {"server": "llama.cpp"}, b"{}")},
    ),
    "ollama": (
        "ollama",
        {
            "/api/version": _ok({"version": "0.12.0"}),
            "/v1/models": _models({"id": "m", "owned_by": "library"}),
        },
    ),
    "lmstudio": (
        "lmstudio",
        {"/v1/models": _models({"id": "m", "object": "model", "owned_by": "organization_owner"})},
    ),
    "LiteLLM 1.108": (
        "litellm",
        {
            "/v1/models": ProbeReply(
                200,
                {"x-litellm-version": "1.108.7"},
                b'{"data":[{"id":"m","object":"model","owned_by":"openai"}],"object":"list"}',
            )
        },
    ),
    "mlx-vlm 0.7.10": (
        "mlx-vlm",
        {
            "/v1/models": _models(
                {"id": "tiny-think", "object": "model", "created": 1795904036, "loaded": True},
                server="mlx_vlm/0.7.10",
            )
        },
    ),
    "fusion-mlx 0.10.24": (
        "fusion-mlx",
        {"/v1/models": _models({"id": "m", "owned_by": "local", "modality": "text"})},
    ),
    "dasllama 0.6.6": (
        "dasllama",
        {"/v1/models": _models({"id": "m", "owned_by": "dasllama"}, server="libhv/1.3.4")},
    ),
    "OGX 1.5": (
        "ogx",
        {"/v1/models": _models({"id": "claude-haiku-4-5", "owned_by": "ogx"}, server="uvicorn")},
    ),
    "transformers serve 5.24 with a folder": (
        "transformers",
        {
            "/v1/models": _models(
                {
                    "owned_by": "local",
                    "id": "tiny-think",
                    "object": "model",
                    "created": 0,
                    "status": {"value": "loaded"},
                }
            )
        },
    ),
    "vllm-mlx 0.5": ("vllm-mlx", {"/v1/models": _models({"id": "m", "owned_by": "vllm-mlx"})}),
    "rapid-mlx 0.16": ("rapid-mlx", {"/v1/models": _models({"id": "m", "owned_by": "rapid-mlx"})}),
    "mlx-lm 0.32": (
        "mlx-lm",
        {
            "/v1/models": _models(
                {"id": "models/tiny-think", "object": "model", "created": 1795649115},
                server="BaseHTTP/0.6 Python/3.11.7",
            )
        },
    ),
    "another of Python's own servers": (
        "generic",
        {"/v1/models": _models({"id": "m", "owned_by": "us"}, server="BaseHTTP/0.6 Python/3.11")},
    ),
    "one that lists nothing": ("generic", {"/v1/models": _models(server="BaseHTTP/0.6")}),
    "one of another owner": ("generic", {"/v1/models": _models({"id": "m", "owned_by": "local"})}),
    "xinference 4.1": (
        "xinference",
        {"/v1/models": _models({"id": "tiny-think", "owned_by": "xinference", "created": 0})},
    ),
    "transformers serve": (
        "generic",
        {"/v1/models": _models({"id": "org/m", "object": "model", "owned_by": "org"})},
    ),
    "a server that says no more than its models": ("generic", {"/v1/models": _models({"id": "m"})}),
    "a server with no models": ("generic", {"/v1/models": _models()}),
    "a server that knows none of the paths": ("generic", {}),
}


@pytest.mark.parametrize(("name", "answers"), REAL.values(), ids=REAL)
def test_a_server_is_recognised_by_its_own_reports(name: str, answers: Answers) -> None:
    assert _recognised(answers) == name


def test_every_server_that_has_a_mark_is_recognised_here() -> None:
    marked = {server.name for server in SERVERS if server.fingerprints}
    assert marked <= {name for name, _ in REAL.values()}


def test_a_server_that_lists_no_model_yet_is_probed_again_soon() -> None:
    replies = dict.fromkeys(IDENTITY_PATHS, NOT_FOUND)
    assert is_certain(GENERIC, replies)
    assert is_certain(GENERIC, {**replies, "/v1/models": _models({"id": "m"})})
    assert not is_certain(GENERIC, {**replies, "/v1/models": _models()})


def test_a_server_that_answers_nothing_stays_unrecognised() -> None:
    assert _recognised({}, None) is None


def test_a_server_that_leaves_a_probe_unanswered_is_recognised_by_the_rest() -> None:
    assert _recognised({"/v1/models": _models(VLLM)}, None) == "vllm"


def test_a_server_that_leaves_a_question_unanswered_is_not_generic_yet() -> None:
    assert _recognised({"/v1/metadata": NOT_FOUND, "/v1/models": _models()}, None) is None


def test_an_answer_that_is_not_there_counts_as_none() -> None:
    assert recognise_server({"/v1/models": NOT_FOUND}) is None


def test_every_path_of_a_mark_is_requested_once() -> None:
    assert len(IDENTITY_PATHS) == len(set(IDENTITY_PATHS))
    assert set(IDENTITY_PATHS) == {mark.path for server in SERVERS for mark in server.fingerprints}


ODD: dict[str, ProbeReply] = {
    "no JSON": _ok(b"<html>"),
    "nothing": _ok(b""),
    "no UTF-8": _ok(b"\xff\xfe"),
    "null": _ok(None),
    "a number": _ok(1),
    "an array": _ok([VLLM, {"version": "1"}]),
    "models that are no array": _ok({"data": VLLM}),
    "models that are no objects": _models("vllm", None, 3, ["owned_by"]),
    "an owner that is no text": _models({"owned_by": ["vllm"]}, {"owned_by": {"vllm": 1}}),
    "an owner of a longer name": _models({"owned_by": "vllm-fork"}),
    "too deep": _ok(b"[" * 100_000),
    "a header that says nothing": _ok({}, server=""),
}


@pytest.mark.parametrize("reply", ODD.values(), ids=ODD)
def test_odd_answers_make_a_server_generic(reply: ProbeReply) -> None:
    assert _recognised({}, reply) == GENERIC.name


@pytest.mark.parametrize("status", [401, 403, 500, 503])
def test_a_server_that_lets_nobody_in_stays_unrecognised(status: int) -> None:
    assert _recognised({"/v1/models": ProbeReply(status)}) is None


BODY = {
    "model": "m",
    "messages": [{"role": "user", "content": "hi"}],
    "tools": [{"type": "function", "function": {"name": "f"}}],
    "chat_template_kwargs": {"enable_thinking": True},
    "max_tokens": 5,
    "stream": True,
}
TEMPLATE = _ok({"prompt": "<|im_start|>hi"})


def _counted(
    name: str, answers: Answers, otherwise: ProbeReply | None = NOT_FOUND
) -> tuple[int | None, list[ProbeRequest]]:
    return _probed(count_tokens(by_name(name), BODY), answers, otherwise)


def _body(ask: ProbeRequest) -> object:
    assert ask.body is not None
    return json_text.read(ask.body)


COUNTED_AT = "/v1/chat/completions/input_tokens"


def test_llama_cpp_counts_a_chats_body() -> None:
    count, (ask,) = _counted("llama.cpp", {COUNTED_AT: _ok({"input_tokens": 42})})
    assert (count, ask.path, _body(ask)) == (42, COUNTED_AT, BODY)


def test_an_older_llama_cpp_renders_the_template_and_then_counts() -> None:
    count, (_, render, tokenize) = _counted(
        "llama.cpp", {"/apply-template": TEMPLATE, "/tokenize": _ok({"tokens": [1, 2, 3]})}
    )
    assert (count, render.path, _body(render)) == (3, "/apply-template", BODY)
    assert tokenize.path == "/tokenize"
    assert _body(tokenize) == {
        "content": "<|im_start|>hi",
        "add_special": True,
        "parse_special": True,
    }


@pytest.mark.parametrize("name", ["vllm", "sglang"])
def test_who_renders_messages_counts_what_a_request_says_to_the_model(name: str) -> None:
    count, (ask,) = _counted(
        name, {"/tokenize": _ok({"count": 42, "max_model_len": 2048, "tokens": [1]})}
    )
    sent = {name: BODY[name] for name in ("model", "messages", "tools", "chat_template_kwargs")}
    assert (count, ask.path, _body(ask)) == (42, "/tokenize", sent)


def test_vllm_gets_no_empty_list_of_tools() -> None:
    _, (ask,) = _probed(count_tokens(by_name("vllm"), {"model": "m", "messages": []}), {})
    assert _body(ask) == {"model": "m", "messages": []}


COUNT = ("llama.cpp", "vllm", "sglang")
OTHERS = [server for server in SERVERS if server.name not in COUNT]


@pytest.mark.parametrize("server", OTHERS, ids=lambda server: server.name)
def test_other_servers_get_no_request_to_count(server: Server) -> None:
    assert _probed(count_tokens(server, BODY), {}) == (None, [])


UNCOUNTED: dict[str, ProbeReply | None] = {
    "nothing": None,
    "an error": ProbeReply(400, {}, b'{"count":1,"tokens":[1],"prompt":"p"}'),
    "no JSON": _ok(b"count"),
    "an array": _ok([1]),
    "other fields": _ok({"length": 3}),
    "values of another type": _ok({"count": "3", "tokens": 3, "prompt": 3, "input_tokens": "3"}),
    "null": _ok({"count": None, "tokens": None, "prompt": None, "input_tokens": None}),
}


@pytest.mark.parametrize("name", COUNT)
@pytest.mark.parametrize("reply", UNCOUNTED.values(), ids=UNCOUNTED)
def test_an_answer_that_cannot_be_read_is_no_count(name: str, reply: ProbeReply | None) -> None:
    count, asks = _counted(name, {}, reply)
    assert (count, len(asks)) == (None, 2 if name == "llama.cpp" else 1)


@pytest.mark.parametrize("reply", UNCOUNTED.values(), ids=UNCOUNTED)
def test_a_rendered_prompt_without_its_tokens_is_no_count(reply: ProbeReply | None) -> None:
    count, asks = _counted("llama.cpp", {"/apply-template": TEMPLATE}, reply)
    assert (count, len(asks)) == (None, 3)


@pytest.mark.parametrize("count", [True, False], ids=repr)
def test_a_count_that_is_no_number_is_not_believed(count: object) -> None:
    assert _counted("vllm", {"/tokenize": _ok({"count": count})})[0] is None


def test_a_prompt_of_no_tokens_has_none() -> None:
    assert (
        _counted("llama.cpp", {"/apply-template": TEMPLATE, "/tokenize": _ok({"tokens": []})})[0]
        == 0
    )


def _estimate(text: str, **fields: object) -> int:
    return estimate_tokens(
        {"model": "m", "messages": [{"role": "user", "content": text}], **fields}
    )


def test_an_estimate_grows_with_what_the_model_reads() -> None:
    assert _estimate("word " * 1000) - _estimate("") == 1250
    assert _estimate("", tools=[{"description": "d" * 4000}]) - _estimate("") >= 1000


def test_an_estimate_is_of_characters_not_of_how_they_are_written() -> None:
    assert _estimate("\u4f60" * 400) == _estimate("a" * 400)


def test_an_estimate_does_not_depend_on_what_the_model_does_not_read() -> None:
    assert _estimate("hi", user="u" * 4000, stop=["s"] * 400) == _estimate("hi")


@pytest.mark.parametrize(
    "body", [{}, {"messages": []}, {"messages": None, "tools": None}], ids=repr
)
def test_an_estimate_is_one_at_least(body: dict[str, object]) -> None:
    assert estimate_tokens(body) >= 1


CLOSED = ["<|im_start|>", "assistant", "Ċ"]
LONG = ["<think>", *["word"] * 20]


def _prompt_state(
    tokens: object, name: str = "vllm"
) -> tuple[InitialState | None, list[ProbeRequest]]:
    answers = {"/tokenize": _ok({"count": 5, "token_strs": tokens})}
    return _probed(prompt_state(by_name(name), BODY), answers)


@pytest.mark.parametrize(
    ("tokens", "state"),
    [
        ([*CLOSED, "<think>", "Ċ"], THINKING),
        ([*CLOSED, "<", "th", "ink", ">"], THINKING),
        ([*CLOSED, "<|START_THINKING|>", "Ġ"], THINKING),
        (CLOSED, TEXT),
        (LONG, TEXT),
    ],
    ids=["opened", "in pieces", "a blank behind it", "not opened", "long before"],
)
def test_vllm_tells_how_its_prompt_ends(tokens: list[str], state: InitialState) -> None:
    assert _prompt_state(tokens)[0] is state


def test_vllm_gets_a_request_for_the_prompt_of_this_request() -> None:
    _, (ask,) = _prompt_state(CLOSED)
    named = ("model", "messages", "tools", "chat_template_kwargs")
    assert ask.path == "/tokenize"
    assert _body(ask) == {name: BODY[name] for name in named} | {"return_token_strs": True}


@pytest.mark.parametrize("tokens", [None, 5, [], "text", {}], ids=repr)
def test_a_prompt_that_cannot_be_read_tells_nothing(tokens: object) -> None:
    assert _prompt_state(tokens)[0] is None


def test_a_prompt_that_is_refused_tells_nothing() -> None:
    assert _probed(prompt_state(by_name("vllm"), BODY), {})[0] is None


@pytest.mark.parametrize(
    ("prompt", "state"),
    [("<|im_start|>assistant\n<think>\n", THINKING), ("<|im_start|>assistant\n", TEXT), (5, None)],
    ids=["opened", "not opened", "no prompt"],
)
def test_llama_cpp_tells_how_its_prompt_ends(prompt: object, state: InitialState | None) -> None:
    answers = {"/apply-template": _ok({"prompt": prompt})}
    read, (ask,) = _probed(prompt_state(by_name("llama.cpp"), BODY), answers)
    assert (read, _body(ask)) == (state, BODY)


def test_llama_cpp_gets_no_request_for_a_prompt_that_goes_on() -> None:
    """A last assistant turn is continued, so that its prompt says nothing of other replies."""
    turns = [{"role": "user", "content": "hi"}]
    begun = [*turns, {"role": "assistant", "content": "The"}]
    answers = {"/apply-template": TEMPLATE}
    _, (ask,) = _probed(prompt_state(by_name("llama.cpp"), {**BODY, "messages": begun}), answers)
    assert _body(ask) == BODY
    alone = {"messages": begun[-1:]}
    _, (ask,) = _probed(prompt_state(by_name("llama.cpp"), alone), answers)
    assert _body(ask) == alone


OWN = ProbeRequest("/v1/messages/count_tokens", b'{"messages":[]}')


def test_an_older_sglang_counts_by_its_messages_endpoint() -> None:
    answers = {OWN.path: _ok({"input_tokens": 13})}
    count, (first, second) = _probed(count_tokens(by_name("sglang"), BODY, OWN), answers)
    assert (count, first.path, second) == (13, "/tokenize", OWN)
    assert _probed(count_tokens(by_name("vllm"), BODY, OWN), answers)[0] is None


@pytest.mark.parametrize(
    ("text", "state"),
    [("assistant\n<think>\n", THINKING), ("<|im_start|>assistant\n", TEXT), (["a"], None)],
    ids=["opened", "not opened", "no text"],
)
def test_sglang_tells_how_its_prompt_ends(text: object, state: InitialState | None) -> None:
    answers = {"/tokenize": _ok({"tokens": [*range(40)]}), "/detokenize": _ok({"text": text})}
    read, (_, ask) = _probed(prompt_state(by_name("sglang"), BODY), answers)
    assert (read, ask.path) == (state, "/detokenize")
    assert _body(ask) == {"tokens": [*range(28, 40)], "skip_special_tokens": False}


@pytest.mark.parametrize("tokens", [None, [], "text"], ids=repr)
def test_sglang_without_tokens_tells_nothing(tokens: object) -> None:
    answers = {"/tokenize": _ok({"tokens": tokens, "token_strs": tokens})}
    read, asks = _probed(prompt_state(by_name("sglang"), BODY), answers)
    assert (read, len(asks)) == (None, 1)


@pytest.mark.parametrize(
    "name",
    [server.name for server in SERVERS if server.name not in ("vllm", "llama.cpp", "sglang")],
    ids=str,
)
def test_other_servers_get_no_request_for_their_prompt(name: str) -> None:
    assert _prompt_state(CLOSED, name) == (None, [])


def test_a_row_is_certain_when_no_row_before_it_was_silent() -> None:
    answers = dict.fromkeys(IDENTITY_PATHS, NOT_FOUND)
    vllm = next(row for row in SERVERS if row.name == "vllm")
    assert is_certain(vllm, answers)
    assert is_certain(vllm, {**answers, "/version": None})
    assert not is_certain(vllm, {**answers, "/v1/metadata": None})
    assert is_certain(SERVERS[0], {**answers, "/version": None})


PIECES = ["<|im_start|>", "user", "\n", [32, 195], [164], "x"]


def test_llama_cpp_tells_each_token_of_a_prompt() -> None:
    tokens = {"tokens": [{"id": at, "piece": piece} for at, piece in enumerate(PIECES)]}
    answers = {"/apply-template": _ok({"prompt": "…"}), "/tokenize": _ok(tokens)}
    pieces, asks = _probed(prompt_pieces(by_name("llama.cpp"), {"messages": []}), answers)
    assert pieces == [b"<|im_start|>", b"user", b"\n", b" \xc3", b"\xa4", b"x"]
    assert json.loads(asks[1].body or b"")["with_pieces"] is True


@pytest.mark.parametrize(
    ("spelled", "text"),
    [
        (["<|im_start|>", "user", "Ċ", "ĠÃ", "¤", "Ġx"], "<|im_start|>user\n ä x"),
        (["<s>", "▁Be", "▁short", "<0x0A>", "<0xC3>", "<0xA4>"], "<s> Be short\nä"),
        (["<｜User｜>", "ĠðŁ", "§", "ł"], "<｜User｜> 🧠"),
    ],
)
def test_vllm_tells_tokens_as_their_vocabulary_spells_them(spelled: list[str], text: str) -> None:
    answers = {"/tokenize": _ok({"count": len(spelled), "token_strs": spelled})}
    pieces, _ = _probed(prompt_pieces(by_name("vllm"), {"messages": []}), answers)
    assert pieces is not None
    assert len(pieces) == len(spelled)
    assert b"".join(pieces).decode() == text


@pytest.mark.parametrize("server", ["llama.cpp", "vllm", "generic", "ollama"])
@pytest.mark.parametrize("tokens", [{}, {"tokens": 5, "token_strs": {}}, {"tokens": []}, [], None])
def test_a_server_that_tells_no_tokens_has_no_pieces(server: str, tokens: object) -> None:
    answers = {"/apply-template": _ok({"prompt": "…"}), "/tokenize": _ok(tokens)}
    assert _probed(prompt_pieces(by_name(server), {}), answers)[0] is None
    assert _probed(prompt_pieces(by_name(server), {}), {}, None)[0] is None
