"""The bounds: how much is held of a reply, in one table. Others stand where they are used
(`converter.addon.bounds`).

`docs/faults.md` has the bounds that end a reply.

They are checked at two doors. A frame or a body enters: beyond its bound nothing of it is read. A
piece leaves: the text that is held until it may leave is bounded as well. Times, and how far a
grammar looks, are no bounds; they stand where they are used.
"""

_K, _M = 1 << 10, 1 << 20
_BYTES, _CHARACTERS = "bytes", "characters"
_ERROR = "the dialect's error"


class Bound(int):
    """The largest number of a thing that is held."""

    unit: str
    what: str  # the thing that is counted
    beyond: str  # the outcome for more of it

    def __new__(cls, most: int, unit: str, what: str, beyond: str = _ERROR) -> "Bound":
        """Return the number with its fields."""
        bound = super().__new__(cls, most)
        bound.unit, bound.what, bound.beyond = unit, what, beyond
        return bound


class TooMuchError(Exception):
    """A reply exceeds a bound, so that the client gets an error with this message."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(
            f"the server's reply is not read on: {bound.what} of more than {bound:,} {bound.unit}"
        )


def fault_of(error: Exception) -> tuple[str, int]:
    """Return the message and the HTTP status of the fault that ended a reply."""
    if isinstance(error, TooMuchError):
        return str(error), 502
    message = f"fault of the addon, please report it: {type(error).__name__}: {error}"
    return " ".join(message.split()), 500


# what enters

BODY_LIMIT = Bound(
    64 * _M,
    _BYTES,
    "a body: a reply that must be whole, or one that is kept",
    "of a reply that must be whole, status 502, and the server's connection is closed; of one that "
    "is kept, the first part",
)
"""1,000 times a long one, with room for `logprobs`; a download must not fill the memory."""
FRAME_LIMIT = Bound(4 * _M, _BYTES, "one frame of a stream")
"""No model writes such a frame; replies' have some hundred bytes, inline pictures stay below."""
DEEPEST = Bound(100, "levels", "objects within each other that a rescued frame keeps", "`null`")
"""A reply has about ten, and parsers of clients give up between 500 and 10,000."""
MOST_CHOICES = Bound(16_384, "choices", "choices of a reply", "a frame that cannot be read")
"""As vLLM's."""

# what leaves: words that wait until they may

WAITING_LIMIT = Bound(4 * _M, _CHARACTERS, "arguments of tool calls that wait")
"""A file that a tool is to write is far shorter; they wait for a name or an earlier call."""
UNFIT_LIMIT = Bound(_M, _CHARACTERS, "arguments of a tool call that are no object")
"""They wait for the call's end, to be put into one string."""
DELAYED_LIMIT = Bound(_M, _CHARACTERS, "text within a tool call")
"""It is sent behind the call; models write little there."""
OUTPUT_LIMIT = Bound(32 * _M, _CHARACTERS, "output")
"""A Responses reply's last event repeats all of it; the longest have some megabytes."""
DEPTH_LIMIT = Bound(200_000, "levels", "arguments of a tool call with objects")
"""They are closed in memory; whoever nests so deep nests for ever."""
MOST_CALLS = Bound(
    1000, "calls", "tool calls", "the dialect's error; what looks like more calls in text is text"
)
"""Agents make some at once, and a model that calls for ever writes no answer."""
HELD_LIMIT = Bound(
    256 * _K,
    _CHARACTERS,
    "a call in text that may be none, and a value in it",
    "a call is text, a value a string",
)
"""A file that a tool is to write; all of it waits until it counts."""
PYTHON_LIMIT = Bound(64 * _K, _CHARACTERS, "one call that is written as Python", "it is text")
"""Python is read whole."""
ATTRIBUTE_LIMIT = Bound(8 * _K, _CHARACTERS, "a tag with attributes", "it is text")
"""A thought in one is some sentences, and a quote that never closes must not hold a reply."""
BLANKS_LIMIT = Bound(
    4 * _K,
    _CHARACTERS,
    "blanks in a row: in arguments, around a thought, before an answer",
    "in arguments they are left out, around a thought they pass, before an answer they begin it",
)
"""Models write no such number, and a stream must go on."""
GUESS_LIMIT = Bound(400, _CHARACTERS, "the end of a thought that is only guessed", "it passes")
"""An ordinary short answer, some seconds of a slow model's thought."""
COMPARED_LIMIT = Bound(
    _M,
    _CHARACTERS,
    "a thought that is compared with what other names say",
    "what comes at the same place is taken to repeat it",
)
"""The longest thoughts have a tenth."""

# what is remembered, and shown to people

LONGEST_THOUGHT = Bound(
    _M, _CHARACTERS, "a thought for events", "the client gets all, the rest is not told"
)
"""The longest thoughts have a tenth."""
MOST_PARTS = Bound(1000, "parts", "blocks and items of a server's own endpoint", "the oldest go")
"""Events are about one of the newest."""
MOST_NAMES = Bound(50, "names", "names of fields in a note", "they are not named")
"""A line stays readable."""
MOST_FAULTS = Bound(10, "faults", "faults of one reply that are told apart", "a sum")
"""The rest are of the same cause."""


TABLE = [bound for bound in list(globals().values()) if isinstance(bound, Bound)]
