"""Sets how much of a reply the addon reads, holds and lists in the log: a `Bound` for each kind of
data (`BODY_LIMIT`, `HELD_LIMIT`, `BLANKS_LIMIT` ...), and `TooMuchError` for a reply beyond one.

`converter.addon.bounds` has the bounds of response heads, of answers to probes and of earlier
requests. Timeouts, limits of searches for a pattern, and a few other bounds, such as
`_LONGEST_RESPONSE` in `converter/addon/hooks/refused_request.py`, stand in the modules that use
them. `docs/faults.md` tells which bounds end a reply.

A bound is checked where a frame or a body arrives, and where text is held before it is emitted. A
frame or body that is too long is not read: the reply ends, and the client gets an error.
"""

_K, _M = 1 << 10, 1 << 20
_BYTES, _CHARACTERS = "bytes", "characters"
_ERROR = "the dialect's error"
"""The usual value of `Bound.beyond`: data beyond the bound ends the reply, and the client gets an
error in its dialect.
"""


class Bound(int):
    """A number with its unit: how many bytes, characters, calls or levels of some data are taken at
    most.
    """

    unit: str
    """The unit of the number, for error messages and docs: `bytes`, `characters`, `calls` ..."""
    what: str
    """A phrase for error messages and docs that names the data: `one frame of a stream`."""
    beyond: str
    """A phrase for the docs that says what happens to data beyond the bound."""

    def __new__(cls, most: int, unit: str, what: str, beyond: str = _ERROR) -> "Bound":
        """Return a bound whose number is `most`."""
        bound = super().__new__(cls, most)
        bound.unit, bound.what, bound.beyond = unit, what, beyond
        return bound


class TooMuchError(Exception):
    """The error for a reply that exceeds a bound. It ends the reply, and the client gets an error
    with its message.
    """

    def __init__(self, bound: Bound) -> None:
        super().__init__(
            f"the server's reply is not read on: {bound.what} of more than {bound:,} {bound.unit}"
        )


def fault_of(error: Exception) -> tuple[str, int]:
    """Return the message and the HTTP status for a client whose reply was ended by the exception
    `error`: 502 for a `TooMuchError`, 500 for any other exception, which is a fault of the addon.
    """
    if isinstance(error, TooMuchError):
        return str(error), 502
    message = f"fault of the addon, please report it: {type(error).__name__}: {error}"
    return " ".join(message.split()), 500


# Bounds of data that arrives from the server.

BODY_LIMIT = Bound(
    64 * _M,
    _BYTES,
    "a body, read as a whole or kept",
    "read: status 502, and the server's connection is closed; kept: the first part",
)
"""The bound keeps a download of a file from filling the memory. A long reply has a thousandth of
these bytes, and even one with `logprobs` has fewer than the bound.
"""
FRAME_LIMIT = Bound(4 * _M, _BYTES, "one frame of a stream")
"""A frame usually has some hundred bytes, and even one with a picture in it has fewer than this."""
DEEPEST = Bound(100, "levels", "nested objects of a frame that is mended", "`null`")
"""The most levels of objects and lists that `json_text.rescue` keeps when it mends invalid JSON;
`null` replaces deeper values. A reply has about ten levels. Clients fail at 500 to 10,000 levels.
"""
MOST_CHOICES = Bound(16_384, "choices", "choices of a reply", "a frame that cannot be read")
"""A choice whose index is not below this number makes its frame unreadable. vLLM takes no higher
number of choices (`n`) in a request.
"""

# Bounds of text that waits before it goes out.

WAITING_LIMIT = Bound(4 * _M, _CHARACTERS, "held arguments of tool calls")
"""A call's arguments wait until its name is complete and earlier calls have ended. The longest
arguments, a file that a model writes with a tool, are far shorter.
"""
UNFIT_LIMIT = Bound(_M, _CHARACTERS, "arguments of a tool call that are not a JSON object")
"""Such arguments wait for the end of the call. Only then is it certain what they are: a JSON string
that holds an object, or the value of a tool's only parameter `input`.
"""
DELAYED_LIMIT = Bound(_M, _CHARACTERS, "text within a tool call")
"""Text that a model writes in the middle of a call is held, and sent behind the call. Models write
little there.
"""
OUTPUT_LIMIT = Bound(32 * _M, _CHARACTERS, "output")
"""All output of a Responses stream is held, because the last event of the stream repeats it. The
longest output has some megabytes.
"""
DEPTH_LIMIT = Bound(200_000, "levels", "arguments of a tool call with objects")
"""For each open object and list, its closing bracket is held. A model that opens so many is in a
loop.
"""
MOST_CALLS = Bound(
    1000, "calls", "tool calls", "the dialect's error; what looks like more calls in text is text"
)
"""Agents make a few calls at once. A model that makes 1,000 is in a loop."""
HELD_LIMIT = Bound(
    256 * _K,
    _CHARACTERS,
    "text that may be a call, and a value in it",
    "the call becomes text, the value a string",
)
"""Text that may be a tool call is held until it is certain whether it is one. The longest calls
write a file: their arguments hold the file's text.
"""
PYTHON_LIMIT = Bound(64 * _K, _CHARACTERS, "one call that is written as Python", "it is text")
"""A call in Python's syntax is parsed from its beginning whenever it may have ended. So it must
not be long.
"""
ATTRIBUTE_LIMIT = Bound(8 * _K, _CHARACTERS, "a tag with attributes", "it is text")
"""A thought in a tag's attribute has some sentences. Without the bound, a quote that is never
closed would hold the rest of the reply.
"""
BLANKS_LIMIT = Bound(
    4 * _K,
    _CHARACTERS,
    "successive blanks: in arguments, around a thought, before an answer",
    "left out in arguments; sent around a thought; the answer begins with them",
)
"""Models write fewer blanks in a row. The bound lets the stream go on even if the blanks never end.
"""
GUESS_LIMIT = Bound(400, _CHARACTERS, "held text where a thought's end is guessed", "it passes")
"""The most text that is held behind an offset at which a thought may have ended, until the text
shows whether it did. 400 characters are a short answer, which a slow model writes in some seconds.
"""
COMPARED_LIMIT = Bound(
    _M,
    _CHARACTERS,
    "a thought that is compared with other fields of the same frame",
    "text at the same offset counts as its repetition",
)
"""Some servers send a thought in two fields. This is how much of it is kept to recognise the
repetition in the other field. The longest thoughts have a tenth of this length.
"""

# Bounds of data that is remembered, and shown to people.

LONGEST_THOUGHT = Bound(
    _M, _CHARACTERS, "a thought for watchers", "watchers get the first part, the client all"
)
"""How much of a thought is kept for watchers. The longest thoughts have a tenth of this length."""
MOST_PARTS = Bound(1000, "parts", "blocks and items of a server's own endpoint", "the oldest go")
"""How many blocks (in the Messages API) or items (in the Responses API) of a stream a decoder
remembers. Further events come only for the newest ones.
"""
MOST_NAMES = Bound(50, "names", "names of fields in a note", "the others are not named")
"""A line of the log with 50 names is still readable."""
MOST_FAULTS = Bound(10, "faults", "faults of one reply that are listed", "not listed")
"""How many different faults of one reply are noted in the log. Further ones would say little more.
"""


TABLE = [bound for bound in list(globals().values()) if isinstance(bound, Bound)]
"""All bounds of this module, for the docs."""
