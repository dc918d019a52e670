"""Ollama's API: spoken by Home Assistant, VS Code Copilot, LangChain's ChatOllama and many more.

It has no row in the table yet: in front of a real Ollama its requests must go on as they are, and
the laws must know it, before any request meets it.
"""

from collections.abc import Mapping

from converter.dialects.dialect import (
    Answers,
    Dialect,
    Form,
    Label,
    Requests,
    Wire,
)
from converter.dialects.endpoints import Endpoint, Purpose
from converter.dialects.ollama.decoder import NAME, OllamaDecoder
from converter.dialects.ollama.encoder import OllamaStreamEncoder, OllamaWholeEncoder
from converter.dialects.ollama.errors import error_body, error_reply
from converter.dialects.ollama.request_reader import read
from converter.wire.ndjson import NDJSON


def _recognises(said: Mapping[str, object]) -> bool:
    told = "message" in said or "response" in said
    return isinstance(said.get("done"), bool) and told and "created_at" in said


OLLAMA = Dialect(
    NAME,
    Label("Ollama", "reply of Ollama's API", head=frozenset(("model", "created_at", "done"))),
    Wire(
        decoder=lambda _: OllamaDecoder(),
        encoders={Form.STREAM: OllamaStreamEncoder, Form.WHOLE: OllamaWholeEncoder},
        recognises=_recognises,
        framing=NDJSON,
    ),
    Requests(
        read=lambda body, _mapped, _purpose, _memory: read(body),
        path="/api/chat",
        example={"messages": [{"role": "user", "content": "12 * 7"}]},
        streams=True,
    ),
    Answers(error_body, error_reply),
    (Endpoint(NAME, Purpose.REPLY, "POST", "/api/(?:chat|generate)", "ollama"),),
)
