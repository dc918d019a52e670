"""A real llama.cpp that is led by the hand: it judges each request, and says what an agent's task
needs.

The small model reads a thousand tokens, and an agent's prompts are longer. So its words are held to
a grammar: a thought and a call of the weather tool, until the client has compacted the conversation,
then a thought and an answer. All else is the server's own: what it refuses, counts and holds. It
takes no grammar beside tools, so a request with new tools goes to it as it came first, for one token.
"""

import http.client
import json
from collections.abc import Mapping
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.scripted_server import Asked

WORDS = '\nwords ::= [a-z]{2,8} (" " [a-z]{2,8}){8,12}'
THINKS = r'root ::= "<think>\n" words "\n</think>\n\n" '
CALL = r'"<tool_call>\n{\"name\": \"%s\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"'
SUMMARISED = "summary"
"""A word of the clients' requests for a summary, and of what they say of it behind it."""


class LedLlama(ByPathServer):
    """In front of the llama.cpp at `address`. `refusals`: the errors that it gave, in order."""

    def __init__(self, address: str) -> None:
        self.refusals: list[str] = []
        self._port = urlsplit(address).port or 0
        self._taken = set[str]()
        super().__init__()

    def reply(self, asked: Asked) -> Says:
        if asked.target != CHAT:
            return self._passed_on(asked.method, asked.target, asked.body)
        self.asked.append(asked)
        body = json.loads(asked.body)
        tools = json.dumps(body.get("tools"))
        if tools not in self._taken:
            as_it_came = self._chat(
                {**body, "stream": False, "stream_options": None, "max_tokens": 1}
            )
            if as_it_came.status != 200:
                return as_it_came
            self._taken.add(tools)
        return self._chat({**body, "grammar": grammar(body), "tool_choice": "none"})

    def _chat(self, body: Mapping[str, Any]) -> Says:
        said = self._passed_on("POST", CHAT, json.dumps(body).encode())
        if said.status != 200:
            self.refusals.append(str(said.steps[0]))
        return said

    def _passed_on(self, method: str, target: str, body: bytes) -> Says:
        with closing(http.client.HTTPConnection("127.0.0.1", self._port)) as connection:
            connection.request(method, target, body, {"content-type": "application/json"})
            answer = connection.getresponse()
            kind = answer.getheader("content-type") or ""
            return Says(answer.read(), answer.status, {"content-type": kind})


def grammar(body: Mapping[str, Any]) -> str:
    """Return the words that are due."""
    names = [tool["function"]["name"] for tool in body.get("tools") or ()]
    weather = next((name for name in names if name.endswith("get_weather")), "")
    answers = SUMMARISED in json.dumps(body["messages"]) or not weather
    return THINKS + ("words" if answers else CALL % weather) + WORDS
