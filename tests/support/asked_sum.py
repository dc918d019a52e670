"""One question and its answer, with a thought, for tests of what mitmweb's page shows."""

import json

from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.clients import OPENAI, Client, Dialect
from tests.support.frames import stream, whole
from tests.support.mitmweb import Mitmweb
from tests.support.scripted_server import ReceivedRequest

QUESTION = "What is 12 times 7?"
THOUGHT = "Seventy and fourteen."
ANSWER = "The answer is 84."
TAGGED = f"<think>{THOUGHT}</think>\n\n{ANSWER}"


def question(streamed: bool) -> bytes:
    """A question that means the same in both dialects."""
    turns = [{"role": "user", "content": QUESTION}]
    return json.dumps(
        {"model": "small", "max_tokens": 200, "messages": turns, "stream": streamed}
    ).encode()


class Script:
    """Answers with the sum, streamed or whole as requested."""

    def __init__(self, reply: str) -> None:
        self._reply = reply

    def __call__(self, request: ReceivedRequest) -> Says:
        streamed = json.loads(request.body).get("stream")
        return (
            Says(steps=stream(*self._reply.partition("</think>")))
            if streamed
            else Says(whole(self._reply))
        )


def ask(
    web: Mitmweb,
    server: ByPathServer,
    reply: str = TAGGED,
    dialect: Dialect = OPENAI,
    streamed: bool = True,
) -> bytes:
    server.rows[CHAT] = Script(reply)
    with Client(web.port) as client:
        return client.ask(dialect.path, question(streamed)).body
