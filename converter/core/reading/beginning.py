"""The beginning of a reply, as far as it is known before it comes."""

import enum


class Mode(enum.Enum):
    """The mode in which a reply begins. CLOSED: in its text, and thinking is off. GUESSED: in a
    thought, if the guess is right. UNDECIDED is for whole replies of which nothing is known: the
    first mark tells what came before.
    """

    ANSWERING = enum.auto()
    CLOSED = enum.auto()
    THINKING = enum.auto()
    GUESSED = enum.auto()
    UNDECIDED = enum.auto()


JSON_BEGINS = ("[", "{", '"')
"""The beginnings of an answer in JSON; a thought begins with a word."""


class Grammar(enum.Enum):
    """The grammar by which a server makes an answer. The answer begins with the first character, so
    the model has no room for a thought, unless the server keeps room for one.
    """

    NONE = enum.auto()
    JSON = enum.auto()  # the answer begins with a bracket or a quote, a thought with a word
    OTHER = enum.auto()
