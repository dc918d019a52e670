"""Fills in `OLLAMA`, the record of Ollama's API for the table of dialects: its decoder and encoder,
requests, answers and endpoints. Home Assistant, VS Code Copilot, LangChain's ChatOllama and many
more clients speak it.
"""

from collections.abc import Mapping

from converter.core.dialects.dialect import (
    QUESTION,
    SAMPLING,
    Answers,
    Dialect,
    Endpoint,
    Label,
    Purpose,
    Requests,
)
from converter.core.dialects.ollama import own_answers
from converter.core.dialects.ollama.decoder import NAME, OllamaDecoder
from converter.core.dialects.ollama.encoder import OllamaEncoder
from converter.core.dialects.ollama.own_answers import error_body, error_reply
from converter.core.dialects.ollama.request_reader import EmptyRequestError, read
from converter.core.dialects.wire_form import WireForm
from converter.core.model.conversation import RequestError
from converter.core.wire.sse import NDJSON


def _recognises(body: Mapping[str, object]) -> bool:
    """Return True if the JSON of a line, or of a whole reply, is a reply of Ollama's API."""
    has_text = "message" in body or "response" in body
    return isinstance(body.get("done"), bool) and has_text and "created_at" in body


def _refusal(error: RequestError) -> tuple[int, Mapping[str, object]]:
    """Return the status and the body of the answer to a request that breaks the format, or that has
    no prompt.
    """
    if isinstance(error, EmptyRequestError):
        return 200, error.answer
    return 400, {"error": str(error)}


OLLAMA = Dialect(
    NAME,
    Label("Ollama", "reply of Ollama's API", head=frozenset(("model", "created_at", "done"))),
    WireForm(
        decoder=lambda _: OllamaDecoder(),
        encoder=OllamaEncoder,
        recognises=_recognises,
        framing=NDJSON,
        keeps_raw=True,
    ),
    Requests(
        read=lambda body, context: read(body, context.turn_of),
        path="/api/chat",
        example={**QUESTION, "options": {**SAMPLING, "num_predict": 200}},
        streams=True,
        native_of=NAME,
        # Ollama refuses `think: true` for a model that it believes unable to think. The field is
        # removed, because models that can think do so without it.
        native=lambda body: (
            {name: value for name, value in body.items() if name != "think"}
            if body.get("think") is True
            else body
        ),
    ),
    Answers(
        error_body,
        error_reply,
        refusal=_refusal,
        own=own_answers.answer,
        own_of_models=own_answers.OF_MODELS,
    ),
    (
        Endpoint(NAME, Purpose.REPLY, "POST", "/api/(?:chat|generate)", "ollama"),
        *(
            Endpoint(NAME, Purpose.OWN, "POST", path, counterpart=counterpart)
            for path, counterpart in own_answers.COUNTERPARTS.items()
        ),
        *(Endpoint(NAME, Purpose.OWN, *row) for row in own_answers.PATHS),
        Endpoint(NAME, Purpose.OWN, "GET", "", prefix="(?P<prefix>)"),
    ),
)
"""The record of this dialect, for the table of all dialects."""
