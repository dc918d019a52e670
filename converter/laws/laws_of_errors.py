"""The laws of a server's error answer: its words arrive, the SDKs raise it, and whatever stands in
it raises nothing of ours.
"""

import json
import warnings

from converter.dialects.table import ANTHROPIC, OPENAI_CHAT, Dialect, Form
from converter.exchange import Answer
from converter.laws.failures import BrokenLawError, compare
from converter.laws.laws_of_bytes import spoiled
from converter.laws.laws_of_clients import readers
from converter.laws.variants import luck
from converter.recordings.recording import Recording
from converter.recordings.replay import for_client

_WAY = "Anthropic client"


def answer(recording: Recording, client: Dialect, body: bytes | None = None) -> Answer:
    """Return what this client gets for the error. Raises BrokenLawError when the addon raises."""
    awaited = for_client(recording.awaited(), client)
    answered, body = recording.answered, recording.body if body is None else body
    try:
        made = awaited.whole(answered.status, answered.content_type, body).answer
    except Exception as error:
        raise BrokenLawError(
            str(client), f"the addon raised {type(error).__name__}: {error}\n  for: {body[:200]!r}"
        ) from error
    return made or Answer(answered.status, answered.content_type, body)


def error_4(recording: Recording, _: int) -> None:
    """A chat completions client gets the bytes; an Anthropic client the status' error, with the
    server's words.
    """
    plain = answer(recording, OPENAI_CHAT)
    compare(
        "chat completions client",
        [recording.answered.status, recording.body],
        [plain.status, plain.body],
    )
    made = json.loads(answer(recording, ANTHROPIC).body)
    compare(_WAY, ["error", ["message", "type"]], [made.get("type"), sorted(made.get("error", ()))])
    words = _words(recording.body)
    if (
        words and "tokens" not in words and words not in made["error"]["message"]
    ):  # too long a prompt is said in the API's words
        raise BrokenLawError(
            _WAY, f"the server's words\n  expected: {words}\n  got:      {made['error']['message']}"
        )


def _words(body: bytes) -> str:
    """The message of an error in the usual shape."""
    try:
        said = json.loads(body)
        words = said["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return ""
    return words if isinstance(words, str) else ""


def error_7(recording: Recording, _: int) -> None:
    """The anthropic SDK raises the error of this status."""
    made = answer(recording, ANTHROPIC)
    with warnings.catch_warnings(action="ignore"):
        sdk = readers()
        raised = sdk.anthropic_error(sdk.Wire(), made.body, Form.WHOLE, made.status)
    words = json.loads(made.body)["error"]["message"]
    if words not in raised or made.status < 400:
        raise BrokenLawError(
            _WAY,
            f"the SDK's error of status {made.status}\n  expected: {words}\n  got:      {raised or 'none'}",
        )


def error_8(recording: Recording, drawn: int) -> None:
    """Whatever the body is, an Anthropic client gets an error, and nothing is raised."""
    for name, body in spoiled(recording.body, drawn, luck(recording, 8)):
        answer(recording, OPENAI_CHAT, body)
        made = answer(recording, ANTHROPIC, body)
        if json.loads(made.body).get("type") != "error":
            raise BrokenLawError(f"{_WAY}, {name}", f"no error: {made.body[:200]!r}")
