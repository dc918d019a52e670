"""The table of bounds: how much of a reply the addon holds in memory.

`converter.addon.bounds` has the bounds of all other data, and `docs/faults.md` tells which bounds
end a reply. Timeouts, and lengths up to which a pattern is searched for, stand in the modules that
use them.

A bound is checked where a frame or a body arrives, and where text is held before it is emitted. A
frame or body that is too long is not read.
"""

_K, _M = 1 << 10, 1 << 20
_BYTES, _CHARACTERS = "bytes", "characters"
_ERROR = "the dialect's error"
"""The usual `Bound.beyond`: the client gets an error in the shape of its dialect."""


class Bound(int):
    """The largest number of bytes, characters, calls ... that are held."""

    unit: str
    """The unit of the number, for error messages and docs: `bytes`."""
    what: str
    """A phrase that names the bounded data, for error messages and docs: `one frame of a stream`.
    """
    beyond: str
    """A phrase for the docs that says what happens to data beyond the bound."""

    def __new__(cls, most: int, unit: str, what: str, beyond: str = _ERROR) -> "Bound":
        """Return a bound with the number `most`."""
        bound = super().__new__(cls, most)
        bound.unit, bound.what, bound.beyond = unit, what, beyond
        return bound


class TooMuchError(Exception):
    """The error for a reply that exceeds a bound. The client gets an error with its message, and
    the reply ends.
    """

    def __init__(self, bound: Bound) -> None:
        super().__init__(
            f"the server's reply is not read on: {bound.what} of more than {bound:,} {bound.unit}"
        )


def fault_of(error: Exception) -> tuple[str, int]:
    """Return the message and the HTTP status of the error that a client gets when the exception
    `error` ended its reply. The exception is `TooMuchError`, or shows a fault of the addon.
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
"""A long reply has a thousandth of these bytes, and replies with `logprobs` are still below the
bound. The bound is there because a download of a file must not fill the memory.
"""
FRAME_LIMIT = Bound(4 * _M, _BYTES, "one frame of a stream")
"""A frame usually has some hundred bytes, and one with an inline picture is still shorter than
this.
"""
DEEPEST = Bound(100, "levels", "nested objects of a frame that is mended", "`null`")
"""The most levels that `json_text.rescue` keeps of a frame that is not valid JSON; `null` replaces
deeper values. A reply has about ten levels. Parsers of clients fail at 500 to 10,000 levels.
"""
MOST_CHOICES = Bound(16_384, "choices", "choices of a reply", "a frame that cannot be read")
"""The most choices that vLLM takes as a request's `n`."""

# Bounds of text that waits before it goes out.

WAITING_LIMIT = Bound(4 * _M, _CHARACTERS, "held arguments of tool calls")
"""Arguments wait until the name of their call is complete, or until an earlier call has ended. A
file that a model writes with a tool is far shorter.
"""
UNFIT_LIMIT = Bound(_M, _CHARACTERS, "arguments of a tool call that are not a JSON object")
"""Such arguments wait for the end of the call. Only then it is known whether they are a JSON string
that holds an object, or the value of a tool's only parameter `input`.
"""
DELAYED_LIMIT = Bound(_M, _CHARACTERS, "text within a tool call")
"""Text that comes in the middle of a call is sent behind the call. Models write little there."""
OUTPUT_LIMIT = Bound(32 * _M, _CHARACTERS, "output")
"""The last event of a Responses stream repeats the whole output, so that all output is held. The
longest has some megabytes.
"""
DEPTH_LIMIT = Bound(200_000, "levels", "arguments of a tool call with objects")
"""The closing brackets of all open levels are held. A model that nests so deep is in a loop."""
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
"""Text that may be a tool call is held until it is certain whether it is a call. The longest such
text is a file in the arguments of a tool that writes files.
"""
PYTHON_LIMIT = Bound(64 * _K, _CHARACTERS, "one call that is written as Python", "it is text")
"""A call in Python's syntax is parsed again as a whole, so that it may not be long."""
ATTRIBUTE_LIMIT = Bound(8 * _K, _CHARACTERS, "a tag with attributes", "it is text")
"""A thought in a tag's attribute has some sentences. The bound is there because a quote that is
never closed must not hold the rest of the reply.
"""
BLANKS_LIMIT = Bound(
    4 * _K,
    _CHARACTERS,
    "successive blanks: in arguments, around a thought, before an answer",
    "left out in arguments; sent around a thought; the answer begins with them",
)
"""Models write fewer blanks. If blanks never end, the stream must still go on."""
GUESS_LIMIT = Bound(400, _CHARACTERS, "held text where a thought's end is guessed", "it passes")
"""How much text is held behind the offset at which a thought may have ended, until more of the
reply shows whether it ended there. 400 characters are a short answer, which a slow model writes in
some seconds.
"""
COMPARED_LIMIT = Bound(
    _M,
    _CHARACTERS,
    "a thought that is compared with other fields of the same frame",
    "text at the same offset counts as its repetition",
)
"""How much of a thought is kept to compare it with the other field in which a server sends the same
thought. The longest thoughts have a tenth of this length.
"""

# Bounds of data that is remembered, and shown to people.

LONGEST_THOUGHT = Bound(
    _M, _CHARACTERS, "a thought for watchers", "watchers get the first part, the client all"
)
"""How much of a thought is kept for watchers. The longest thoughts have a tenth of this length."""
MOST_PARTS = Bound(1000, "parts", "blocks and items of a server's own endpoint", "the oldest go")
"""How many blocks (Messages) or items (Responses) of a stream a decoder remembers. Only the newest
get further events.
"""
MOST_NAMES = Bound(50, "names", "names of fields in a note", "the others are not named")
"""A line of the log with 50 names is still readable."""
MOST_FAULTS = Bound(10, "faults", "faults of one reply that are listed", "a sum")
"""How many different faults of one reply are noted. Further faults have the same causes."""


TABLE = [bound for bound in list(globals().values()) if isinstance(bound, Bound)]
"""All bounds of this module, for the docs."""
