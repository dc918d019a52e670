"""The bounds: how much is held of a reply, a request and a server's answers, in one table.

`docs/faults.md` has the bounds that end a reply or change it.

They are checked at two doors. A frame or a body enters: beyond its bound nothing of it is read. A
piece leaves: the text that is held until it may leave is bounded as well. Times, and how far a
grammar looks, are no bounds; they stand where they are used.
"""

_K, _M = 1 << 10, 1 << 20
_BYTES, _CHARACTERS = "bytes", "characters"
_ERROR = "the dialect's error"
_OLDEST = "the oldest go"


class Bound(int):
    """A number of `unit`. `what` is bounded, `why` by so much, and what happens `beyond`."""

    def __new__(cls, most: int, unit: str, what: str, why: str, beyond: str = _ERROR) -> "Bound":
        """Return the number with its words."""
        bound = super().__new__(cls, most)
        bound.unit, bound.what, bound.why, bound.beyond = unit, what, why, beyond
        return bound

    unit: str
    what: str
    why: str
    beyond: str

    @property
    def amount(self) -> str:
        """The number as people read it."""
        mega, rest = divmod(self, _M)
        return f"{mega} M {self.unit}" if mega and not rest else f"{self:,} {self.unit}"


class TooMuchError(Exception):
    """A reply says more of something than is held, so that the client gets an error with these
    words.
    """

    def __init__(self, bound: Bound) -> None:
        super().__init__(
            f"the server's reply is not read on: {bound.what} of more than {bound:,} {bound.unit}"
        )


def fault_of(error: Exception) -> tuple[str, int]:
    """Return the words and the HTTP status of the fault that ended a reply."""
    if isinstance(error, TooMuchError):
        return str(error), 502
    words = f"fault of the addon, please report it: {type(error).__name__}: {error}"
    return " ".join(words.split()), 500


# what enters

BODY_LIMIT = Bound(
    64 * _M,
    _BYTES,
    "a body: a reply that must be whole, or one that is kept",
    "1,000 times a long one, with room for `logprobs`; a download must not fill the memory",
    "status 502, and the server's connection is closed; of a stream the first part is kept",
)
FRAME_LIMIT = Bound(
    4 * _M,
    _BYTES,
    "one frame of a stream",
    "no model writes such a frame; replies' have some hundred bytes, inline pictures stay below",
)
LONGEST_HEAD = Bound(
    64 * _K,
    _BYTES,
    "a reply's head, a chunk's, and trailers",
    "h11 reads 16 KiB, nginx and browsers up to 256; mitmproxy reads on for ever",
)
ANSWER_LIMIT = Bound(
    16 * _M,
    _BYTES,
    "what a server says about itself, or a prompt's tokens",
    "the tokens of the longest prompt are some megabytes",
    "it is as if the server had not answered",
)
DEEPEST = Bound(
    100,
    "levels",
    "objects within each other that a rescued frame keeps",
    "a reply has about ten, and parsers of clients give up between 500 and 10,000",
    "`null`",
)
MOST_CHOICES = Bound(
    16_384, "choices", "choices of a reply", "as vLLM's", "a frame that cannot be read"
)

# what leaves: words that wait until they may

WAITING_LIMIT = Bound(
    4 * _M,
    _CHARACTERS,
    "arguments of tool calls that wait",
    "a file that a tool is to write is far shorter; they wait for a name or an earlier call",
)
UNFIT_LIMIT = Bound(
    _M,
    _CHARACTERS,
    "arguments of a tool call that are no object",
    "they wait for the call's end, to be put into one string",
)
DELAYED_LIMIT = Bound(
    _M,
    _CHARACTERS,
    "text within a tool call",
    "it is told behind the call; models say little there",
)
OUTPUT_LIMIT = Bound(
    32 * _M,
    _CHARACTERS,
    "output",
    "a Responses reply's last event says all once more; the longest have some megabytes",
)
DEPTH_LIMIT = Bound(
    200_000,
    "levels",
    "arguments of a tool call with objects",
    "they are closed in memory; whoever nests so deep nests for ever",
)
MOST_CALLS = Bound(
    1000,
    "calls",
    "tool calls",
    "agents make some at once, and a model that calls for ever says nothing",
    "the dialect's error; what looks like more calls in text is text",
)
HELD_LIMIT = Bound(
    256 * _K,
    _CHARACTERS,
    "a call in text that may be none, and a value in it",
    "a file that a tool is to write; all of it waits until it counts",
    "it is text; a value is a string",
)
PYTHON_LIMIT = Bound(
    64 * _K,
    _CHARACTERS,
    "one call that is written as Python",
    "Python is read whole",
    "it is text",
)
ATTRIBUTE_LIMIT = Bound(
    8 * _K,
    _CHARACTERS,
    "a tag with attributes",
    "a thought in one is some sentences, and a quote that never closes must not hold a reply",
    "it is text",
)
BLANKS_LIMIT = Bound(
    4 * _K,
    _CHARACTERS,
    "blanks in a row: in arguments, around a thought, before an answer",
    "models write no such number, and a stream must go on",
    "left out; pass; begin the answer",
)
GUESS_LIMIT = Bound(
    400,
    _CHARACTERS,
    "the end of a thought that is only guessed",
    "an ordinary short answer, some seconds of a slow model's thought",
    "it passes",
)
COMPARED_LIMIT = Bound(
    _M,
    _CHARACTERS,
    "a thought that is compared with what other names say",
    "the longest thoughts have a tenth",
    "what comes at the same place is taken to repeat it",
)

# what is remembered, and shown to people

LONGEST_THOUGHT = Bound(
    _M,
    _CHARACTERS,
    "a thought for events, and thoughts that a budget cut",
    "the longest thoughts have a tenth",
    "the client gets all, the rest is not told",
)
MOST_PARTS = Bound(
    1000,
    "parts",
    "blocks and items of a server's own endpoint",
    "events are about one of the newest",
    _OLDEST,
)
MOST_NAMES = Bound(
    50, "names", "names of fields in a note", "a line stays readable", "they are not named"
)
MOST_FAULTS = Bound(
    10,
    "faults",
    "faults of one reply that are told apart",
    "the rest are of the same cause",
    "a sum",
)
MOST_KNOWN = Bound(
    1000,
    "entries",
    "what is known of servers; models of a list",
    "one machine has a few; a client that makes names up must not fill the memory",
    _OLDEST,
)
MOST_SHARED = Bound(
    300,
    "lessons",
    "what processes tell each other of one server",
    "some for each model and each refused schema; all of them are read at once",
    _OLDEST,
)
MOST_SERIES = Bound(
    200,
    "series",
    "groups of model and server in the metrics",
    "clients choose the names of models",
    "counted as `other`",
)
MOST_KINDS = Bound(
    50, "kinds", "kinds of mending in the metrics", "servers choose them", "counted as `other`"
)
KNOWN_TURNS = Bound(
    16,
    "requests",
    "long requests whose messages the next one of their conversation repeats",
    "agents run side by side",
    _OLDEST,
)
KNOWN_TURNS_BYTES = Bound(
    16 * _M,
    _BYTES,
    "long requests that are repeated, all together",
    "some agents with full windows",
    _OLDEST,
)
KEPT_PROMPTS = Bound(
    32,
    "requests",
    "requests that the next one of their conversation is compared with",
    "agents run side by side",
    _OLDEST,
)
KEPT_PROMPT_BYTES = Bound(
    16 * _M, _BYTES, "the same, all together", "some agents with full windows", _OLDEST
)
LONGEST_PROMPT = Bound(
    1 * _M,
    _BYTES,
    "a request that is compared so",
    "a window of 200,000 tokens; others wait while it is compared",
    "not compared",
)
MOST_RECORDINGS = Bound(
    200,
    "recordings",
    "recordings that wait to be written",
    "scrubbing takes longer than a fast server's small replies",
    "not kept, with a line in the log",
)
MOST_SPANS = Bound(
    500,
    "spans",
    "spans that wait for a collector",
    "the replies of a minute while it starts anew",
    "dropped, and counted in the metrics",
)
TRACED_WORDS = Bound(
    128 * _K,
    _CHARACTERS,
    "words of a reply in a span",
    "collectors take some megabytes at once",
    "the rest is not told",
)
MOST_HOOKS = Bound(
    1000,
    "calls",
    "calls of other addons' `thought` hooks under way",
    "a hook that hangs must not fill the memory",
    "not called",
)
TERMINAL_LIMIT = Bound(
    512 * _K,
    _CHARACTERS,
    "words of replies that wait for the terminal",
    "one that takes nothing must not fill the memory; nobody reads more at once",
    "not printed, and a line says how many",
)
LIVE_LIMIT = Bound(
    16 * _M,
    _BYTES,
    "a running reply that is followed in mitmweb",
    "60,000 tokens, more than people read while they come",
    "shown further when it is complete",
)
SEARCH_LIMIT = Bound(
    64 * _M,
    _CHARACTERS,
    "words of conversations that the page's search remembers",
    "the conversations of a long day",
    "read again for the next search",
)


TABLE = [bound for bound in list(globals().values()) if isinstance(bound, Bound)]
