"""The request of a recording, as a command to try."""

import shlex

from converter.recordings.recording import Recording

SERVED_AT = "http://127.0.0.1:8000"
"""Where `serve` listens when nobody has said otherwise."""


def request_of(recording: Recording) -> str:
    """Return a curl command that sends the client's request to where recordings are served."""
    request = recording.asked
    address = f"{SERVED_AT}/{recording.name}{request.path}"
    words = ["curl", "-sN", address]
    if request.method != "GET":
        words += ["-X", request.method] if request.method != "POST" else []
        words += ["-H", "content-type: application/json"]
        words += ["-d", request.body.decode(errors="replace")]
    return shlex.join(words)
