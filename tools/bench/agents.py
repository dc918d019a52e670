"""Write a coding agent's requests in each dialect (`Agent`), with tools, a system prompt and a
history of tool calls; `turns.py` and `agents_soak.py` send them.

A request has the user's task, then for each turn so far a tool call and its result. The next
request repeats all that and adds one turn. As Claude Code does, each Messages request sets
`cache_control` on its newest block, and has other metadata than the request before.
"""

import json
from dataclasses import dataclass
from functools import cache

from tools.bench.replies import TOKENS

type Value = dict[str, object]

TOOLS = 25
"""How many tools each request offers."""
RESULT_LENGTH = 4500
"""The number of characters of each tool result, unless an agent has another `length`."""
_SYSTEM_LENGTH = 12_000
"""The number of characters of the system prompt."""
_DESCRIPTION_LENGTH = 900
"""The number of characters of each tool's description."""
_CACHE_MARK = {"cache_control": {"type": "ephemeral"}}
"""A field of a Messages block: the server caches the prompt up to the end of this block."""


@cache
def _filler(length: int) -> str:
    """Return a text of `length` characters, which has quotes, line ends and accents."""
    text = "".join(TOKENS)
    return (text * (length // len(text) + 1))[:length]


def _schema(number: int) -> Value:
    """Return the parameters of the tool `tool_{number}` as a JSON schema: four strings, each with a
    description.
    """
    field = {"type": "string", "description": _filler(120)}
    names = [f"field_{number}_{at}" for at in range(4)]
    return {"type": "object", "properties": dict.fromkeys(names, field), "required": names[:2]}


@dataclass(frozen=True)
class Agent:
    """The conversation of one agent. Its methods write the request of each dialect."""

    number: int
    """The agent's number, which stands in its texts so that no two agents send the same."""
    model: str
    """The model that the requests name. On the bench's server it is the name of a reply."""
    length: int = RESULT_LENGTH
    """The number of characters of each tool result."""

    def turns_for_size(self, size: int) -> int:
        """Return how many turns the history needs to make a request of about `size` bytes."""
        head = TOOLS * (_DESCRIPTION_LENGTH + 800) + _SYSTEM_LENGTH
        return max(1, (size - head) // (self.length + 450))

    def chat_body(self, turns: int) -> bytes:
        """Return the body of a chat completions request with a history of `turns` turns."""
        messages: list[Value] = [
            {"role": "system", "content": _filler(_SYSTEM_LENGTH)},
            {"role": "user", "content": f"task {self.number}: {_filler(300)}"},
        ]
        for at in range(turns):
            function = {"name": "tool_3", "arguments": json.dumps(self._arguments(at))}
            call = {"id": self._call_id(at), "type": "function", "function": function}
            messages += [
                {"role": "assistant", "content": self._answer(at), "tool_calls": [call]},
                {"role": "tool", "tool_call_id": self._call_id(at), "content": self._result(at)},
            ]
        functions = [
            {
                "name": f"tool_{at}",
                "description": _filler(_DESCRIPTION_LENGTH),
                "parameters": _schema(at),
            }
            for at in range(TOOLS)
        ]
        tools = [{"type": "function", "function": function} for function in functions]
        return _encode({"model": self.model, "stream": False, "messages": messages, "tools": tools})

    def messages_body(self, turns: int) -> bytes:
        """Return the body of a Messages request with a history of `turns` turns.

        The system prompt and the newest block have `cache_control`.
        """
        messages: list[Value] = [
            self._user(f"task {self.number}: {_filler(300)}", marked=not turns)
        ]
        for at in range(turns):
            call = {"type": "tool_use", "id": self._call_id(at), "name": "tool_3"}
            blocks: list[Value] = [
                {"type": "text", "text": self._answer(at)},
                {**call, "input": self._arguments(at)},
            ]
            result: Value = {"type": "tool_result", "tool_use_id": self._call_id(at)}
            result["content"] = [{"type": "text", "text": self._result(at)}]
            result |= _CACHE_MARK if at == turns - 1 else {}
            messages += [
                {"role": "assistant", "content": blocks},
                {"role": "user", "content": [result]},
            ]
        tools = [
            {
                "name": f"tool_{at}",
                "description": _filler(_DESCRIPTION_LENGTH),
                "input_schema": _schema(at),
            }
            for at in range(TOOLS)
        ]
        return _encode(
            {
                "model": self.model,
                "max_tokens": 32000,
                "stream": False,
                "system": [{"type": "text", "text": _filler(_SYSTEM_LENGTH), **_CACHE_MARK}],
                "tools": tools,
                "messages": messages,
                "metadata": {"user_id": f"session-{self.number}-{turns}"},
            }
        )

    def responses_body(self, turns: int) -> bytes:
        """Return the body of a Responses request with a history of `turns` turns."""
        messages: list[Value] = [{"role": "user", "content": f"task {self.number}: {_filler(300)}"}]
        for at in range(turns):
            call = {"type": "function_call", "call_id": self._call_id(at), "name": "tool_3"}
            messages += [
                {"role": "assistant", "content": self._answer(at)},
                {**call, "arguments": json.dumps(self._arguments(at))},
                {**call, "type": "function_call_output", "output": self._result(at)},
            ]
        tools = [
            {
                "type": "function",
                "name": f"tool_{at}",
                "description": _filler(_DESCRIPTION_LENGTH),
                "parameters": _schema(at),
            }
            for at in range(TOOLS)
        ]
        body = {"model": self.model, "stream": False, "instructions": _filler(_SYSTEM_LENGTH)}
        return _encode({**body, "input": messages, "tools": tools})

    def ollama_body(self, turns: int) -> bytes:
        """Return the body of a request of Ollama's API with a history of `turns` turns."""
        messages: list[Value] = [
            {"role": "system", "content": _filler(_SYSTEM_LENGTH)},
            {"role": "user", "content": f"task {self.number}: {_filler(300)}"},
        ]
        for at in range(turns):
            call = {"function": {"name": "tool_3", "arguments": self._arguments(at)}}
            messages += [
                {"role": "assistant", "content": self._answer(at), "tool_calls": [call]},
                {"role": "tool", "tool_name": "tool_3", "content": self._result(at)},
            ]
        functions = [
            {
                "name": f"tool_{at}",
                "description": _filler(_DESCRIPTION_LENGTH),
                "parameters": _schema(at),
            }
            for at in range(TOOLS)
        ]
        tools = [{"type": "function", "function": function} for function in functions]
        return _encode({"model": self.model, "stream": False, "messages": messages, "tools": tools})

    def _user(self, text: str, *, marked: bool) -> Value:
        """Return a user's message of the Messages API. `marked`: True to set `cache_control`."""
        return {
            "role": "user",
            "content": [{"type": "text", "text": text, **(_CACHE_MARK if marked else {})}],
        }

    def _call_id(self, at: int) -> str:
        """Return the id of the tool call in the turn with the index `at`."""
        return f"call_{self.number}_{at}"

    def _answer(self, at: int) -> str:
        """Return the model's text before the tool call in the turn with the index `at`."""
        return f"Step {at} of task {self.number}. {_filler(120)}"

    def _arguments(self, at: int) -> Value:
        """Return the arguments of the tool call in the turn with the index `at`."""
        return {"path": f"/src/{self.number}/file_{at}.py", "limit": at}

    def _result(self, at: int) -> str:
        """Return the result of the tool call in the turn with the index `at`."""
        return f"{self.number}.{at}: {_filler(self.length)}"


def _encode(body: Value) -> bytes:
    """Return a request's body as JSON without blanks."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


WRITERS = {
    "openai": Agent.chat_body,
    "anthropic": Agent.messages_body,
    "responses": Agent.responses_body,
    "ollama": Agent.ollama_body,
}
"""Dialect -> the method that writes an agent's request in it."""
