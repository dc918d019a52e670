"""`Mode` says where the engine begins to read a reply, in the answer or in a thought;
`Reading.mode` chooses it. `Grammar` says to what kind of grammar the server constrains the answer.
"""

import enum


class Mode(enum.Enum):
    """The mode in which the engine begins to read a reply: in the answer or in a thought."""

    ANSWERING = enum.auto()
    """In the answer. A closer with which the reply begins is dropped; one of `Lone.TEXT` is text.
    """
    CLOSED = enum.auto()
    """In the answer, because thinking is turned off. A closer with which the reply begins is text,
    except special tokens that are dropped: ignored marks, and closers of `Lone.NOTHING`.
    """
    THINKING = enum.auto()
    """In a thought, certainly."""
    GUESSED = enum.auto()
    """Probably in a thought: a guess. It may be wrong, so the end of the thinking is held."""
    UNDECIDED = enum.auto()
    """In the answer or in a thought. The text is held up to the first mark that has an effect: if
    this mark is a closer, the text is a thought, else it is the answer. This mode is used only for
    replies that come whole, and for replies that are expected to begin in a thought although a
    grammar constrains the answer (`Grammar`).
    """


JSON_BEGINS = ("[", "{", '"')
"""The characters with which an answer in JSON begins, if it is a list, an object or a string. Other
JSON (`5`, `true`) is not recognised, because a thought may begin like it.
"""


class Grammar(enum.Enum):
    """The grammar to which a server constrains the answer, at the client's request.

    Such an answer begins with the first character of the reply: a model cannot think before it,
    except on servers that apply the grammar only behind a thought.
    """

    NONE = enum.auto()
    """The answer is not constrained."""
    JSON = enum.auto()
    """The answer must be JSON. If the reply was expected to begin in a thought, its first character
    that is not blank decides: with one of `JSON_BEGINS` the answer begins, with any other a
    thought.
    """
    OTHER = enum.auto()
    """A grammar other than JSON constrains the answer, such as a regular expression. If the reply
    was expected to begin in a thought, its first mark with an effect decides, as in
    `Mode.UNDECIDED`; without one in the first `UNDECIDED_LIMIT` characters, it is an answer.
    """
