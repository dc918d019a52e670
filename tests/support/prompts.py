"""Prompts whose replies of the small model are well formed, and what a client must see of such a
reply.
"""

import json
import re
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any

from tests.support.clients import SECONDS

# A thought in either form of tags, closed or cut off, or one told in an attribute.
CLOSED = re.compile(r"(.*?)</think\w*>(.*)", re.DOTALL)
THOUGHT = re.compile(
    r'<(think|thinking)>(.*?)(?:</\1>|\Z)|<thinking thought="([^"]*)"[^>]*/>', re.DOTALL
)
MODEL = "tiny-think"
STOP_REASONS = {"stop": "end_turn", "length": "max_tokens"}


@dataclass(frozen=True)
class Prompt:
    """A question. `extra`: fields of chat completions, which a Messages request cannot hold."""

    name: str
    question: str
    system: str = ""
    max_tokens: int = 200
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def user(self) -> list[Any]:
        return [{"role": "user", "content": self.question}]

    @property
    def messages(self) -> list[Any]:
        """With the system prompt, as chat completions have it."""
        return [{"role": "system", "content": self.system}] * bool(self.system) + self.user

    def body(self, **more: object) -> dict[str, object]:
        """A request in the server's own dialect."""
        return {
            "model": MODEL,
            "messages": self.messages,
            "max_tokens": self.max_tokens,
            **self.extra,
            **more,
        }


ATTRIBUTES = 'Think with <thinking thought="..." thought_type="reflection" confidence="0.7"/> tags, then answer.'
BETWEEN_STEPS = Prompt("between steps", "What day is 3 days after Friday?", "think between steps")
CUT = Prompt("cut in the thought", "12 * 7", max_tokens=8)
PROMPTS = [
    Prompt("sum", "12 * 7"),
    Prompt("chinese", "你好"),
    Prompt("code fence", "Write a Python loop from 1 to 5."),
    Prompt("emoji", "Good morning! Use an emoji."),
    Prompt(
        "thinking off",
        "How do I make tea?",
        extra={"chat_template_kwargs": {"enable_thinking": False}},
    ),
    Prompt("empty thought", "12 * 7 Be quick."),
    Prompt(
        "other tags", "How many hours are in 3 days?", "Think in <thinking> tags before you answer."
    ),
    Prompt("attributes", "Which is bigger, an elephant or a mouse?", ATTRIBUTES),
    BETWEEN_STEPS,
    CUT,
]


@dataclass(frozen=True)
class Reply:
    """A reply free of any dialect. `parts`: ("thinking" or "text", content) in order; `tokens`: in
    and out.
    """

    parts: tuple[tuple[str, str], ...]
    finish: str
    tokens: tuple[int, int]

    @property
    def thinking(self) -> str:
        return "\n\n".join(text for kind, text in self.parts if kind == "thinking")

    @property
    def text(self) -> str:
        return "".join(part for kind, part in self.parts if kind == "text")

    @property
    def blocks(self) -> tuple[tuple[str, str], ...]:
        """As Anthropic's clients see it: no line breaks around thoughts, no text of nothing but
        blanks.
        """
        trimmed = (
            (kind, text.strip("\r\n") if kind == "thinking" else text) for kind, text in self.parts
        )
        return tuple((kind, text) for kind, text in trimmed if text.strip())


def ask_directly(address: str, body: dict[str, object]) -> Reply:
    """Return the server's own answer, with the tags taken out by one slow, obvious expression."""
    connection = HTTPConnection(address.removeprefix("http://"), timeout=SECONDS)
    connection.request(
        "POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"}
    )
    answer = json.loads(connection.getresponse().read())
    connection.close()
    choice, usage = answer["choices"][0], answer["usage"]
    return Reply(
        _parts(choice["message"]),
        choice["finish_reason"],
        (usage["prompt_tokens"], usage["completion_tokens"]),
    )


def _parts(message: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the parts of a message. Where the server took the thinking out itself, the content is
    text, and so is the field's part behind a closer.
    """
    if "reasoning_content" in message:
        closed = CLOSED.fullmatch(message["reasoning_content"])
        if closed and not message["content"].strip():
            return ("thinking", closed[1]), ("text", closed[2])
        return ("thinking", message["reasoning_content"]), ("text", message["content"])
    content, end = message["content"], 0
    parts: list[tuple[str, str]] = []
    for match in THOUGHT.finditer(content):
        thought = (match[2] or match[3] or "").strip("\r\n")
        parts += [("text", content[end : match.start()])] + [("thinking", thought)] * bool(
            thought.strip()
        )
        end = match.end()
    return (*parts, ("text", content[end:]))
