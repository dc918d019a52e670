"""Facts about the beginning of a reply that are known before the reply comes."""

import enum


class Mode(enum.Enum):
    """The mode in which the engine begins to read a reply.

    Attributes:
        ANSWERING: in the answer. A closer with which the reply begins is dropped.
        CLOSED: in the answer, because thinking is turned off. A closer with which the reply begins
            is text, unless it is a special token.
        THINKING: in a thought.
        GUESSED: in a thought, by a guess that may be wrong.
        UNDECIDED: in the answer or in a thought. The text is held up to the first mark: if this
            mark is a closer, the text is a thought, else it is the answer. Only for replies that
            come whole, or whose answer is constrained by a grammar.
    """

    ANSWERING = enum.auto()
    CLOSED = enum.auto()
    THINKING = enum.auto()
    GUESSED = enum.auto()
    UNDECIDED = enum.auto()


JSON_BEGINS = ("[", "{", '"')
"""The characters with which an answer in JSON may begin. A thought begins with a word instead."""


class Grammar(enum.Enum):
    """The grammar to which a server constrains the answer, at the client's request.

    Such an answer begins with the first character of the reply: a model cannot think before it,
    except on servers that apply the grammar only behind a thought.

    Attributes:
        NONE: the answer is not constrained.
        JSON: the answer must be JSON, so that its first character tells it from a thought.
        OTHER: any other grammar, such as a regular expression.
    """

    NONE = enum.auto()
    JSON = enum.auto()
    OTHER = enum.auto()
