"""List the plans of the recordings that `tools/capture.py` makes (`PLANS`): each has a server, a
client's request, and the addon's options. Also the tools and questions that requests share.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, cast

type Body = dict[str, object]
type Ending = Literal["", "client leaves", "server drops"]

CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
OLLAMA = "/api/chat"
"""The path of requests of Ollama's API."""
TAGS, EXTRACTED, OPENED, OPENED_EXTRACTED, SPELLED, CALLS_IN_TEXT, MISREAD = (
    "tags",
    "extracted",
    "opened by the template",
    "opened by the template, extracted",
    "tags of many tokens",
    "calls in the text",
    "read as gpt-oss",
)
"""Ways to start llama.cpp: chat template and parsers. These names are keys of `VARIANTS` and
`MISREADS` in `tests/support/harness.py`.
"""
VLLM, VLLM_R1, VLLM_PARSERS, TRANSFORMERS = "vllm", "vllm-r1", "vllm-parsers", "transformers"
"""Servers that `tools/capture.py` does not start: it takes their addresses as options: `--vllm`."""


@dataclass(frozen=True)
class RecordingPlan:
    """The plan of one recording: a client's request to a server, and the addon's options."""

    name: str
    """The name of the recording."""
    server: str
    """A key of `VARIANTS` or `MISREADS` (llama.cpp), or the name of another server, such as `vllm`.
    """
    path: str
    """The path of the request."""
    body: Body | None = None
    """The body of the request; `None` for a GET."""
    options: tuple[str, ...] = ()
    """Options of the addon, each as NAME=VALUE."""
    ending: Ending = ""
    """Who breaks the reply off in the middle (`client leaves`, `server drops`); empty for nobody."""
    pieces: int = 0
    """How many bytes each chunk of the reply has; 0: the chunks stay as the server sends them."""
    times: int = 1
    """How often the request is sent, so that the addon learns; the last exchange is recorded."""
    earlier_bodies: tuple[Body, ...] = ()
    """The bodies of requests that are sent before this plan's request, and not recorded."""

    @property
    def method(self) -> str:
        """The method of the request."""
        return "GET" if self.body is None else "POST"

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the request, as a client of the dialect sends them."""
        return {
            "content-type": "application/json",
            **(
                {}
                if self.path in (CHAT, RESPONSES, OLLAMA)
                else {"anthropic-version": "2023-06-01"}
            ),
        }


type Content = str | list[dict[str, object]]


def chat(
    name: str, server: str, content: Content, *, system: str = "", **extra: object
) -> RecordingPlan:
    """Return the plan of an OpenAI client's chat completions request.

    It asks for a stream if the name ends in `-stream`, with usage unless the server refuses that.
    `content`: the user's text, or a list of messages; `system`: the system prompt, if any; `extra`:
    further fields of the plan and of the body (see `_plan`).
    """
    turns = [{"role": "user", "content": content}] if isinstance(content, str) else content
    messages = [*([{"role": "system", "content": system}] if system else []), *turns]
    streamed: Body = (
        {"stream": True, "stream_options": {"include_usage": True}}
        if name.endswith("-stream")
        else {}
    )
    if server == TRANSFORMERS:
        streamed.pop("stream_options", None)  # transformers answers a request that has it with 422
    body: Body = {
        "model": "tiny-think",
        "messages": messages,
        "seed": 1,
        "temperature": 0,
        "max_tokens": 200,
    }
    return _plan(name, server, CHAT, body | streamed, extra)


def with_earlier_requests(plan: RecordingPlan) -> RecordingPlan:
    """Return the plan with `earlier_bodies`: the requests of all earlier turns, to be sent first.

    So the addon has seen the thoughts of these turns, which the client drops from its history.
    """
    assert plan.body
    turns = cast(list[object], plan.body["messages"])
    bodies = tuple({**plan.body, "messages": turns[:count]} for count in range(1, len(turns), 2))
    return replace(plan, earlier_bodies=bodies)


def messages(name: str, server: str, content: Content, **extra: object) -> RecordingPlan:
    """Return the plan of a request of the Messages API, for a stream if the name ends in `-stream`.

    `content`: the user's text, or a list of messages; `extra`: further fields of the plan and of
    the body.
    """
    turns = [{"role": "user", "content": content}] if isinstance(content, str) else content
    streamed: Body = {"stream": True} if name.endswith("-stream") else {}
    body: Body = {"model": "tiny-think", "messages": turns, "temperature": 0, "max_tokens": 200}
    return _plan(name, server, MESSAGES, body | streamed, extra)


def responses(name: str, server: str, content: Content, **extra: object) -> RecordingPlan:
    """Return the plan of a request of the Responses API, for a stream if the name ends in `-stream`.

    `content`: the user's text, or a list of items; `extra`: further fields of the plan and of the
    body.
    """
    streamed: Body = {"stream": True} if name.endswith("-stream") else {}
    body: Body = {"model": "tiny-think", "input": content, "temperature": 0}
    return _plan(name, server, RESPONSES, body | {"max_output_tokens": 200} | streamed, extra)


def ollama(name: str, server: str, content: str, **extra: object) -> RecordingPlan:
    """Return the plan of a request of Ollama's API, for a stream if the name ends in `-stream`.
    `content`: the user's text; `extra`: further fields of the body.
    """
    whole: Body = {} if name.endswith("-stream") else {"stream": False}
    turns = [{"role": "user", "content": content}]
    sampling = {"temperature": 0, "seed": 1, "num_predict": 200, "num_ctx": 8192}
    body: Body = {"model": "tiny-think", "messages": turns, "options": sampling}
    return RecordingPlan(name, server, OLLAMA, body | whole | extra)


def own_responses(name: str, server: str, content: Content, **extra: object) -> RecordingPlan:
    """Return the plan of a Responses request that the addon passes on to the server's own endpoint
    of that API, in place of a translation to chat completions.
    """
    return responses(name, server, content, options=("think_native=responses",), **extra)


def own_messages(name: str, server: str, content: Content, **extra: object) -> RecordingPlan:
    """Return the plan of a Messages request that the addon passes on to the server's own endpoint
    of that API, in place of a translation to chat completions.
    """
    return messages(name, server, content, options=("think_native=messages",), **extra)


def _plan(name: str, server: str, path: str, body: Body, extra: dict[str, object]) -> RecordingPlan:
    """Return a plan. The entries of `extra` are fields of the plan if it has such a field
    (`options`, `ending`, `pieces`, `times`), and otherwise fields of the request's body.
    """
    of_plan = {
        key: extra.pop(key) for key in ("options", "ending", "pieces", "times") if key in extra
    }
    return RecordingPlan(name, server, path, body | extra, **of_plan)  # type: ignore[arg-type]  # each by its own name


FORGOTTEN: Content = [
    {"role": "user", "content": "6 * 7"},
    {"role": "assistant", "content": "\n\n6 * 7 = 42"},
    {"role": "user", "content": "7 * 8"},
]
"""The messages of a client that drops thoughts: the first answer comes back without its thought."""
SUM, SNOW, WEATHER = "6 * 7", "What colour is snow?", "What is the weather in Oslo?"
TWO_CITIES = "What is the weather in Oslo and Rome?"
"""A question to which the model makes two calls."""
TOO_LONG = "🎉" * 1100  # four tokens for each emoji: more than the model's context window
# LONG and the constants below it, to DOUBLED, are grammars of llama.cpp (GBNF). Each forces the
# small model to write a certain text, which is hard to parse, as larger models write it.
LONG = r'root ::= "<think>\n" [a-z ]{1900} "\n</think>\n\nDone."'
"""A long thought: a client may leave, or the server be killed, within it."""
IN_CODE = r'root ::= "<think>\nWhich tag?\n</think>\n\nIt is `<think>`, so:\n\n```\n<think>never</think>\n```\n\nDone." '
"""An answer with tags in code, which are text."""
MARKED = r"""root ::= "Let me think. Six sevens are forty-two. Now I'll answer: it is 42." """
"""A thought without tags, between the phrases that begin and end it."""
OWN_PAIR = r'root ::= "((Six sevens are forty-two.)) It is 42, as (6 * 7) always is."'
"""A thought between the marks of the option `think_tags`, and the same marks in the answer."""
LATE_THOUGHT = r'root ::= "A first word. <think>\nSix sevens.\n</think>\n\nIt is 42. 四十二 🎉"'
"""A thought behind the answer's first words."""
NO_THOUGHT = r'root ::= "</think>\n\nIt is 42."'
"""An answer behind a closer, without a thought."""
CALL_IN_THOUGHT = (
    r'root ::= "<think>\nI look it up.\n\n<tool_call>\n'
    r'{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"'
)
"""A call in a thought that is never closed."""
CLOSER_IN_CODE = r'root ::= "Use the ` sign, ok</think>It ends with `code`."'
"""A closer behind a backtick that begins no code."""
UNCLOSED = r'root ::= "It is 42.\n\nSix sevens are forty-two."'
"""An answer without any mark, of a model that is expected to begin in a thought."""
KIMI_K3 = (
    r'root ::= "<|open|>think<|sep|>Six sevens.<|close|>think<|open|>response<|sep|>It is 42.'
    r'<|close|>respon"'
)
"""A reply in the marks of Kimi K3, cut off within its last mark."""
GEMMA = r'root ::= "<|channel>thought\nSix sevens.<channel|>It is 42.<channel|>"'
"""A reply in the marks of Gemma."""
COHERE = r'root ::= "<|START_THINKING|>Six sevens.<|START_RESPONSE|>It is 42.<|END_RESPONSE|>"'
"""A reply in the marks of Cohere."""
HARMONY = (
    r'root ::= "<|channel|>commentary to=assistant<|channel|>analysis<|message|>Six sevens.<|end|>'
    r'<|start|>assistant<|channel|>final<|message|>It is 42."'
)
"""A reply in the marks of gpt-oss."""
DOUBLED = r'root ::= "<think><think>Six sevens.</think>It is 42."'
"""The grammar of a reply that writes the opener of its thought twice."""
BY_NAME = ("think_server=generic",)
"""Options by which the addon does not recognise llama.cpp: then the model's name decides whether
the reply begins in a thought.
"""
STEPS = "think between steps"
"""A system prompt that makes the small model think between the steps of its answer."""
ATTRIBUTES = 'Think with <thinking thought="..." thought_type="reflection" confidence="0.7"/> tags, then answer.'
"""A system prompt that makes the model think in tags with attributes."""
CITY: Body = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
"""The parameters of the tool `get_weather`."""
OPENAI_TOOL: Body = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather of a city.",
        "parameters": CITY,
    },
}
"""The tool as chat completions offer it."""
TOOL: Body = {
    "name": "get_weather",
    "description": "Get the weather of a city.",
    "input_schema": CITY,
}
"""The tool as the Messages API offers it."""
FLAT_TOOL: Body = {
    "type": "function",
    "name": "get_weather",
    "description": "Get the weather of a city.",
    "parameters": CITY,
}
"""The tool as the Responses API offers it."""
ENFORCED = (
    "think_budget=enforce",
    "think_budget_tokens=5",
    "think_enough=6 times 7 is 42.",
)
"""Options by which the addon itself ends a thought, after 5 tokens."""
LOOPING = r'root ::= "<think>\n" ("I do so so "){90} "</think>" | "42."'
"""The grammar of a thought that repeats one sentence, or of the answer `42.`, which the model
writes after the addon has ended such a thought.
"""
THOUGHT = "The user wants the weather in Oslo. I call get_weather."
"""The thought of the assistant's turn, in requests with earlier turns."""
FORECAST = "7 degrees, rain"
"""The result of `get_weather`, in requests with earlier turns."""
TOOLS_IN_TEXT = ("think_tools=told",)
"""Options: the addon describes the tools in the system turn, and reads calls in the text."""
OPENAI_RESULT: list[Body] = [
    {"role": "user", "content": WEATHER},
    {
        "role": "assistant",
        "content": "",
        "reasoning_content": THOUGHT,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
            },
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": FORECAST},
]
"""A history of chat completions that ends with the result of a call."""
RESULT: list[Body] = [
    {"role": "user", "content": WEATHER},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": THOUGHT, "signature": "think-addon"},
            {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": FORECAST}],
    },
]
"""A history of the Messages API that ends with the result of a call."""
CODEX: Body = {
    "tools": [
        FLAT_TOOL,
        {
            "type": "namespace",
            "name": "mcp__weather",
            "description": "Tools of a weather station.",
            "tools": [{**FLAT_TOOL, "name": "get_forecast"}],
        },
        {
            "type": "custom",
            "name": "apply_patch",
            "description": "Patch a file.",
            "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"},
        },
        {"type": "web_search", "external_web_access": False},
    ],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "reasoning": {"summary": "auto"},
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "conversation",
    "client_metadata": {"session": "none"},
    "text": {"verbosity": "low"},
}
"""Fields that Codex adds to its requests."""
CODEX_RESULT: list[Body] = [
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "You are a helpful assistant."}]},
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Answer in one sentence."}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": WEATHER}]},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": THOUGHT}], "content": None, "encrypted_content": None},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_weather", "arguments": '{"city": "Oslo"}'},
    {"type": "function_call_output", "call_id": "call_1", "output": FORECAST},
]  # fmt: skip
"""A history of the Responses API, as Codex writes it, that ends with the result of a call."""
BEGUN: list[Body] = [
    {"role": "user", "content": SUM},
    {"role": "assistant", "content": "<think>\nI need 6 times 7."},
]
"""Messages of which the last one begins the model's reply, inside a thought."""
ENABLED: Body = {"type": "enabled", "budget_tokens": 1024}
"""The value of `thinking` by which a Messages client asks for thinking."""
EPHEMERAL: Body = {"type": "ephemeral"}
"""The value of `cache_control`, by which a Messages client asks to cache the prompt up to there."""
AGENT: Body = {
    "system": [
        {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=00000;"},
        {"type": "text", "text": "You are a helpful assistant.", "cache_control": EPHEMERAL},
    ],
    "thinking": {"type": "adaptive"},
    "output_config": {"effort": "medium"},
    "metadata": {"user_id": "nobody"},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
}
"""Fields that Claude Code adds to its requests."""
AGENT_TURNS: list[Body] = [
    {
        "role": "user",
        "content": [{"type": "text", "text": "Good morning!", "cache_control": EPHEMERAL}],
    },
    {"role": "system", "content": "Answer in one sentence."},
]
"""Messages of Claude Code: the last one has the role `system`."""
NO_THINKING: Body = {"enable_thinking": False}
"""A variable of the chat template, which turns thinking off."""

LLAMA = (
    chat("llama-tags-stream", TAGS, SUM),
    chat("llama-tags-whole", TAGS, SUM),
    messages("llama-tags-anthropic-stream", TAGS, SUM),
    messages("llama-tags-anthropic-whole", TAGS, SUM),
    chat("llama-no-usage-stream", TAGS, "6 * 7 Be quick.", stream_options={"include_usage": False}),
    chat("llama-logprobs-stream", TAGS, "6 * 7 Be quick.", logprobs=True, top_logprobs=1),
    chat(
        "llama-thinking-tags-stream",
        TAGS,
        SNOW,
        system="Think in <thinking> tags before you answer.",
    ),
    chat("llama-attributes-stream", TAGS, SNOW, system=ATTRIBUTES),
    messages("llama-attributes-anthropic-whole", TAGS, SUM, system=ATTRIBUTES),
    chat("llama-steps-stream", TAGS, SNOW, system=STEPS),
    messages("llama-steps-anthropic-whole", TAGS, SUM, system=STEPS),
    chat("llama-text-before-thought-whole", TAGS, SUM, grammar=LATE_THOUGHT),
    chat("llama-in-code-stream", TAGS, "Which tag?", grammar=IN_CODE),
    chat("llama-code-fence-stream", TAGS, "Write a Python loop from 1 to 5."),
    messages("llama-empty-thought-anthropic-stream", TAGS, "6 * 7 Be quick."),
    chat("llama-emoji-stream", TAGS, "Hello! Use an emoji."),
    chat("llama-chinese-whole", TAGS, "你好"),
    chat("llama-split-characters-stream", TAGS, "你好", pieces=38),
    chat("llama-thinking-off-stream", TAGS, SUM, chat_template_kwargs=NO_THINKING),
    messages("llama-thinking-off-anthropic-whole", TAGS, "Hi", thinking={"type": "disabled"}),
    chat("llama-cut-in-thought-stream", TAGS, SUM, max_tokens=8),
    messages("llama-cut-in-thought-anthropic-whole", TAGS, SUM, max_tokens=8),
    messages("llama-cut-in-text-anthropic-stream", TAGS, SUM, max_tokens=28),
    messages("llama-stop-in-thought-anthropic-stream", TAGS, SUM, stop_sequences=["times 7 is"]),
    chat("llama-prefilled-stream", TAGS, BEGUN),
    chat("llama-prefilled-whole", TAGS, BEGUN),
    chat("llama-tool-call-whole", TAGS, WEATHER, tools=[OPENAI_TOOL]),
    chat("llama-two-tool-calls-stream", TAGS, TWO_CITIES, tools=[OPENAI_TOOL]),
    chat("llama-two-tool-calls-whole", TAGS, TWO_CITIES, tools=[OPENAI_TOOL]),
    messages("llama-two-tool-calls-anthropic-stream", TAGS, TWO_CITIES, tools=[TOOL]),
    chat("llama-tool-result-stream", TAGS, OPENAI_RESULT, tools=[OPENAI_TOOL]),
    messages("llama-tool-result-anthropic-whole", TAGS, RESULT, tools=[TOOL]),
    messages(
        "llama-history-in-field-anthropic-whole",
        TAGS,
        RESULT,
        tools=[TOOL],
        options=("think_history=reasoning_content",),
    ),
    with_earlier_requests(
        chat("llama-thoughts-put-back-whole", TAGS, FORGOTTEN, model="qwen3.6-tiny")
    ),
    messages(
        "llama-thinking-on-anthropic-stream", TAGS, "7 * 8", thinking=ENABLED, max_tokens=2000
    ),
    messages("llama-agent-anthropic-stream", TAGS, AGENT_TURNS, **AGENT),
    chat("llama-refused-n-whole", TAGS, SUM, n=2),
    messages("llama-too-long-anthropic-stream", TAGS, TOO_LONG),
    chat(
        "llama-client-left-stream", TAGS, SUM, grammar=LONG, max_tokens=4000, ending="client leaves"
    ),
    chat(
        "llama-server-dropped-stream",
        TAGS,
        SUM,
        grammar=LONG,
        max_tokens=4000,
        ending="server drops",
    ),
    messages(
        "llama-server-dropped-anthropic-stream",
        TAGS,
        SUM,
        grammar=LONG,
        max_tokens=4000,
        ending="server drops",
    ),
    responses("llama-ended-thought-responses-stream", EXTRACTED, SUM, options=ENFORCED),
    chat(
        "llama-ended-loop-whole",
        TAGS,
        SUM,
        grammar=LOOPING,
        max_tokens=3000,
        options=("think_loops=end",),
    ),
    chat("llama-markers-stream", TAGS, SUM, grammar=MARKED, options=("think_markers=true",)),
    chat(
        "llama-prompted-stream", TAGS, SUM, reasoning_effort="low", options=("think_prompt=tags",)
    ),
    chat("llama-own-pair-stream", TAGS, SUM, grammar=OWN_PAIR, options=("think_tags=(( ))",)),
    chat("llama-told-tools-stream", TAGS, WEATHER, tools=[OPENAI_TOOL], options=TOOLS_IN_TEXT),
    messages(
        "llama-told-tools-anthropic-stream", TAGS, TWO_CITIES, tools=[TOOL], options=TOOLS_IN_TEXT
    ),
    messages(
        "llama-told-tools-result-anthropic-whole", TAGS, RESULT, tools=[TOOL], options=TOOLS_IN_TEXT
    ),
    chat("llama-nothing-read-stream", TAGS, SUM, options=("think_tags=",)),
    messages(
        "llama-not-shown-anthropic-stream",
        TAGS,
        SUM,
        thinking={"type": "adaptive", "display": "omitted"},
    ),
    responses("llama-tags-responses-stream", TAGS, SUM),
    responses("llama-tags-responses-whole", TAGS, SUM),
    responses("llama-cut-in-thought-responses-stream", TAGS, SUM, max_output_tokens=8),
    responses("llama-codex-responses-stream", TAGS, CODEX_RESULT, **CODEX),
    responses("llama-too-long-responses-stream", TAGS, TOO_LONG),
    ollama("llama-tags-ollama-stream", TAGS, SUM, think=True),
    ollama("llama-tags-ollama-whole", TAGS, SUM),
    own_responses("llama-own-responses-tags-stream", TAGS, SUM),
    own_responses("llama-own-responses-tags-whole", TAGS, SUM),
    own_responses("llama-own-responses-two-tool-calls-stream", TAGS, TWO_CITIES, tools=[FLAT_TOOL]),
    own_responses("llama-own-responses-refused-whole", TAGS, TOO_LONG),
    own_messages("llama-native-tags-stream", TAGS, SUM),
    own_messages("llama-native-tags-whole", TAGS, SUM),
    own_messages("llama-native-refused-whole", TAGS, TOO_LONG),
    chat(
        "llama-call-in-thought-whole",
        TAGS,
        WEATHER,
        tools=[OPENAI_TOOL],
        options=TOOLS_IN_TEXT,
        grammar=CALL_IN_THOUGHT,
    ),
    messages(
        "llama-call-cut-by-length-anthropic-whole",
        TAGS,
        WEATHER,
        tools=[TOOL],
        options=TOOLS_IN_TEXT,
        grammar=CALL_IN_THOUGHT,
        max_tokens=34,
    ),
    chat(
        "llama-closer-in-code-whole",
        TAGS,
        SUM,
        model="qwq-32b",
        options=BY_NAME,
        grammar=CLOSER_IN_CODE,
    ),
    chat(
        "llama-unclosed-stop-whole", TAGS, SUM, model="qwq-32b", options=BY_NAME, grammar=UNCLOSED
    ),
    chat("llama-closer-first-whole", TAGS, SUM, grammar=NO_THOUGHT),
    chat(
        "llama-closer-first-thinking-off-whole",
        TAGS,
        SUM,
        chat_template_kwargs=NO_THINKING,
        grammar=NO_THOUGHT,
    ),
    chat("llama-kimi-k3-marks-whole", TAGS, SUM, grammar=KIMI_K3),
    chat("llama-gemma-marks-whole", TAGS, SUM, grammar=GEMMA),
    chat("llama-cohere-marks-whole", TAGS, SUM, grammar=COHERE),
    chat("llama-harmony-headers-whole", TAGS, SUM, grammar=HARMONY),
    chat("llama-opener-doubled-whole", TAGS, SUM, grammar=DOUBLED),
    chat("llama-spelled-stream", SPELLED, SUM),
    chat("llama-spelled-cut-in-tag-whole", SPELLED, SUM, max_tokens=24),
    chat("llama-extracted-stream", EXTRACTED, SUM),
    chat("llama-extracted-whole", EXTRACTED, SUM),
    chat("llama-extracted-cut-in-thought-whole", EXTRACTED, SUM, max_tokens=8),
    chat(
        "llama-extracted-two-names-stream",
        EXTRACTED,
        SUM,
        options=("think_fields=reasoning_content", "think_fields=reasoning"),
    ),
    messages(
        "llama-extracted-mapped-anthropic-stream",
        EXTRACTED,
        SUM,
        options=("think_map=reasoning_content=notes:words",),
    ),
    messages("llama-extracted-tool-call-anthropic-stream", EXTRACTED, WEATHER, tools=[TOOL]),
    ollama(
        "llama-tool-call-ollama-stream",
        EXTRACTED,
        WEATHER,
        tools=[OPENAI_TOOL],
        keep_alive="-1s",
        think=False,
    ),
    responses("llama-extracted-responses-whole", EXTRACTED, SUM),
    own_responses("llama-own-responses-extracted-stream", EXTRACTED, SUM),
    own_responses(
        "llama-own-responses-extracted-tool-call-whole", EXTRACTED, WEATHER, tools=[FLAT_TOOL]
    ),
    own_messages("llama-native-extracted-stream", EXTRACTED, SUM),
    own_messages("llama-native-extracted-tool-call-stream", EXTRACTED, WEATHER, tools=[TOOL]),
    chat("llama-opened-stream", OPENED, SUM),
    messages("llama-opened-extracted-anthropic-stream", OPENED_EXTRACTED, SUM),
    chat("llama-opened-extracted-no-thought-stream", OPENED_EXTRACTED, SUM, grammar=NO_THOUGHT),
    chat("llama-opened-extracted-no-thought-whole", OPENED_EXTRACTED, SUM, grammar=NO_THOUGHT),
    chat("llama-tool-text-stream", CALLS_IN_TEXT, WEATHER, tools=[OPENAI_TOOL]),
    messages("llama-tool-text-anthropic-stream", CALLS_IN_TEXT, TWO_CITIES, tools=[TOOL]),
    messages("llama-tool-text-anthropic-whole", CALLS_IN_TEXT, TWO_CITIES, tools=[TOOL]),
    messages("llama-tool-text-result-anthropic-stream", CALLS_IN_TEXT, RESULT, tools=[TOOL]),
    messages("llama-unread-tool-call-anthropic-stream", MISREAD, WEATHER, tools=[TOOL]),
    chat("llama-unread-whole", MISREAD, SUM),
    RecordingPlan("llama-models-whole", TAGS, "/v1/models"),
)
"""The plans of recordings from llama.cpp, which `tools/capture.py` starts."""
BAD_GRAMMAR: Body = {"grammar": "root ::= ("}
"""A field of a request that a server refuses, because its grammar is no valid GBNF."""
OTHERS = (
    chat("vllm-tags-stream", VLLM, SUM),
    chat("vllm-tags-whole", VLLM, SUM),
    chat(
        "vllm-usage-in-every-frame-stream",
        VLLM,
        SUM,
        stream_options={"include_usage": True, "continuous_usage_stats": True},
    ),
    messages("vllm-tags-anthropic-stream", VLLM, SUM),
    chat("vllm-two-choices-stream", VLLM, "Good morning!", n=2, temperature=0.7),
    chat("vllm-two-choices-whole", VLLM, "Good morning!", n=2, temperature=0.7),
    chat("vllm-stop-string-whole", VLLM, SUM, stop=["="]),
    messages("vllm-stop-string-anthropic-stream", VLLM, SUM, stop_sequences=["="]),
    chat("vllm-error-in-stream", VLLM, SUM, structured_outputs=BAD_GRAMMAR),
    messages("vllm-error-in-anthropic-stream", VLLM, SUM, structured_outputs=BAD_GRAMMAR),
    messages("vllm-too-long-anthropic-whole", VLLM, TOO_LONG),
    messages("vllm-reply-too-long-anthropic-whole", VLLM, SUM, max_tokens=4000),
    messages("vllm-no-such-model-anthropic-whole", VLLM, SUM, model="tiny-thinker"),
    own_messages("vllm-native-tags-stream", VLLM, SUM),
    own_messages("vllm-native-error-in-stream", VLLM, SUM, thinking=ENABLED, max_tokens=2000),
    RecordingPlan("vllm-models-whole", VLLM, "/v1/models"),
    chat("vllm-r1-no-opener-stream", VLLM_R1, SUM),
    chat("vllm-r1-no-opener-whole", VLLM_R1, SUM),
    messages("vllm-r1-no-opener-anthropic-stream", VLLM_R1, SUM),
    own_messages("vllm-r1-native-first-guess-stream", VLLM_R1, SUM),
    own_messages("vllm-r1-native-learned-stream", VLLM_R1, SUM, times=3),
    own_messages("vllm-r1-native-no-opener-whole", VLLM_R1, SUM),
    messages(
        "vllm-r1-native-told-stream",
        VLLM_R1,
        SUM,
        options=("think_native=messages", "think_start=thinking"),
    ),
    chat("vllm-parsers-reasoning-stream", VLLM_PARSERS, SUM),
    chat("vllm-parsers-reasoning-whole", VLLM_PARSERS, SUM),
    messages("vllm-parsers-reasoning-anthropic-stream", VLLM_PARSERS, SUM),
    chat("vllm-parsers-two-tool-calls-stream", VLLM_PARSERS, TWO_CITIES, tools=[OPENAI_TOOL]),
    messages("vllm-parsers-tool-call-anthropic-stream", VLLM_PARSERS, WEATHER, tools=[TOOL]),
    own_messages("vllm-parsers-native-stream", VLLM_PARSERS, SUM),
    own_messages("vllm-parsers-native-tool-call-whole", VLLM_PARSERS, WEATHER, tools=[TOOL]),
    chat("transformers-tags-stream", TRANSFORMERS, SUM),
    chat("transformers-tags-whole", TRANSFORMERS, SUM),
    messages("transformers-tags-anthropic-stream", TRANSFORMERS, SUM),
    chat("transformers-tool-text-stream", TRANSFORMERS, WEATHER, tools=[OPENAI_TOOL]),
    messages("transformers-tool-text-anthropic-stream", TRANSFORMERS, TWO_CITIES, tools=[TOOL]),
    messages("transformers-tool-text-anthropic-whole", TRANSFORMERS, TWO_CITIES, tools=[TOOL]),
    messages(
        "transformers-tool-text-off-stream",
        TRANSFORMERS,
        WEATHER,
        tools=[TOOL],
        options=("think_tools=off",),
    ),
    messages("transformers-tool-result-anthropic-stream", TRANSFORMERS, RESULT, tools=[TOOL]),
    own_responses(
        "transformers-own-responses-cut-in-thought-stream", TRANSFORMERS, SUM, max_output_tokens=8
    ),
    own_responses(
        "transformers-own-responses-tool-text-whole",
        TRANSFORMERS,
        TWO_CITIES,
        tools=[FLAT_TOOL],
        stream=False,
    ),
    chat("transformers-refused-whole", TRANSFORMERS, SUM, structured_outputs=BAD_GRAMMAR),
)
"""The plans of recordings from servers whose addresses are options of `tools/capture.py`."""
PLANS = (*LLAMA, *OTHERS)
"""All plans."""
