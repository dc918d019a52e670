"""The request of a recording, as a command to try."""

import shlex

from converter.recordings.recording import Recording

SERVED_AT = "http://127.0.0.1:8000"
"""Where `serve` listens when nobody has said otherwise."""


def request_of(recording: Recording) -> str:
    """Return a curl command that sends the client's request to where recordings are served."""
    asked = recording.asked
    address = f"{SERVED_AT}/{recording.name}{asked.path}"
    words = ["curl", "-sN", address]
    if asked.method != "GET":
        words += ["-X", asked.method] if asked.method != "POST" else []
        words += ["-H", "content-type: application/json"]
        words += ["-d", asked.body.decode(errors="replace")]
    return shlex.join(words)
