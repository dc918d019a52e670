"""The requests of an agent: tools, a system prompt, and turns of a call and its result.

Each turn repeats the history before it, but moves the cache marks and changes the metadata, as
clients do.
"""

import json
from dataclasses import dataclass
from functools import cache

from tools.bench.replies import TOKENS

type Value = dict[str, object]

TOOLS = 25
TURN = 4500
"""Characters of a tool result."""
_SYSTEM = 12_000
_DESCRIPTION = 900
_MARK = {"cache_control": {"type": "ephemeral"}}


@cache
def _filler(length: int) -> str:
    """Return `length` characters, with quotes, line ends and accents as in real text."""
    text = "".join(TOKENS)
    return (text * (length // len(text) + 1))[:length]


def _schema(number: int) -> Value:
    field = {"type": "string", "description": _filler(120)}
    names = [f"field_{number}_{at}" for at in range(4)]
    return {"type": "object", "properties": dict.fromkeys(names, field), "required": names[:2]}


@dataclass(frozen=True)
class Agent:
    """One conversation. `number`: unlike all others'; `length`: characters of each result."""

    number: int
    model: str
    length: int = TURN

    def turns_of(self, size: int) -> int:
        """Return the number of turns of a request of about `size` bytes."""
        head = TOOLS * (_DESCRIPTION + 800) + _SYSTEM
        return max(1, (size - head) // (self.length + 450))

    def chat(self, turns: int) -> bytes:
        """Return a chat completions request with a history of `turns` turns."""
        messages: list[Value] = [
            {"role": "system", "content": _filler(_SYSTEM)},
            {"role": "user", "content": f"task {self.number}: {_filler(300)}"},
        ]
        for at in range(turns):
            function = {"name": "tool_3", "arguments": json.dumps(self._input(at))}
            call = {"id": self._id(at), "type": "function", "function": function}
            messages += [
                {"role": "assistant", "content": self._answer(at), "tool_calls": [call]},
                {"role": "tool", "tool_call_id": self._id(at), "content": self._result(at)},
            ]
        functions = [
            {"name": f"tool_{at}", "description": _filler(_DESCRIPTION), "parameters": _schema(at)}
            for at in range(TOOLS)
        ]
        tools = [{"type": "function", "function": function} for function in functions]
        return _written(
            {"model": self.model, "stream": False, "messages": messages, "tools": tools}
        )

    def messages(self, turns: int) -> bytes:
        """Return a Messages request with a history of `turns` turns; the newest block has the cache
        mark.
        """
        messages: list[Value] = [
            self._user(f"task {self.number}: {_filler(300)}", marked=not turns)
        ]
        for at in range(turns):
            call = {"type": "tool_use", "id": self._id(at), "name": "tool_3"}
            blocks: list[Value] = [
                {"type": "text", "text": self._answer(at)},
                {**call, "input": self._input(at)},
            ]
            result: Value = {"type": "tool_result", "tool_use_id": self._id(at)}
            result["content"] = [{"type": "text", "text": self._result(at)}]
            result |= _MARK if at == turns - 1 else {}
            messages += [
                {"role": "assistant", "content": blocks},
                {"role": "user", "content": [result]},
            ]
        tools = [
            {
                "name": f"tool_{at}",
                "description": _filler(_DESCRIPTION),
                "input_schema": _schema(at),
            }
            for at in range(TOOLS)
        ]
        return _written(
            {
                "model": self.model,
                "max_tokens": 32000,
                "stream": False,
                "system": [{"type": "text", "text": _filler(_SYSTEM), **_MARK}],
                "tools": tools,
                "messages": messages,
                "metadata": {"user_id": f"session-{self.number}-{turns}"},
            }
        )

    def responses(self, turns: int) -> bytes:
        """Return a request of the Responses API with a history of `turns` turns."""
        messages: list[Value] = [{"role": "user", "content": f"task {self.number}: {_filler(300)}"}]
        for at in range(turns):
            call = {"type": "function_call", "call_id": self._id(at), "name": "tool_3"}
            messages += [
                {"role": "assistant", "content": self._answer(at)},
                {**call, "arguments": json.dumps(self._input(at))},
                {**call, "type": "function_call_output", "output": self._result(at)},
            ]
        tools = [
            {
                "type": "function",
                "name": f"tool_{at}",
                "description": _filler(_DESCRIPTION),
                "parameters": _schema(at),
            }
            for at in range(TOOLS)
        ]
        body = {"model": self.model, "stream": False, "instructions": _filler(_SYSTEM)}
        return _written({**body, "input": messages, "tools": tools})

    def ollama(self, turns: int) -> bytes:
        """Return a request of Ollama's API with a history of `turns` turns."""
        messages: list[Value] = [
            {"role": "system", "content": _filler(_SYSTEM)},
            {"role": "user", "content": f"task {self.number}: {_filler(300)}"},
        ]
        for at in range(turns):
            call = {"function": {"name": "tool_3", "arguments": self._input(at)}}
            messages += [
                {"role": "assistant", "content": self._answer(at), "tool_calls": [call]},
                {"role": "tool", "tool_name": "tool_3", "content": self._result(at)},
            ]
        functions = [
            {"name": f"tool_{at}", "description": _filler(_DESCRIPTION), "parameters": _schema(at)}
            for at in range(TOOLS)
        ]
        tools = [{"type": "function", "function": function} for function in functions]
        return _written(
            {"model": self.model, "stream": False, "messages": messages, "tools": tools}
        )

    def _user(self, text: str, *, marked: bool) -> Value:
        return {
            "role": "user",
            "content": [{"type": "text", "text": text, **(_MARK if marked else {})}],
        }

    def _id(self, at: int) -> str:
        return f"call_{self.number}_{at}"

    def _answer(self, at: int) -> str:
        return f"Step {at} of task {self.number}. {_filler(120)}"

    def _input(self, at: int) -> Value:
        return {"path": f"/src/{self.number}/file_{at}.py", "limit": at}

    def _result(self, at: int) -> str:
        return f"{self.number}.{at}: {_filler(self.length)}"


def _written(body: Value) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


WRITERS = {
    "openai": Agent.chat,
    "anthropic": Agent.messages,
    "responses": Agent.responses,
    "ollama": Agent.ollama,
}
"""The writer of an agent's request, by dialect."""
