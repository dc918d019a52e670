"""An endpoint, as a dialect's record lists it: method, path and purpose. Prefixes and queries are
free.
"""

import enum
import re
from collections.abc import Callable
from dataclasses import dataclass

from converter.wire.checked import Fields


class Purpose(enum.Enum):
    """An aim of a request: a reply, the count of its tokens, its conversation made shorter, the
    list of models, or an answer that the addon gives by itself.
    """

    REPLY = enum.auto()
    COUNT = enum.auto()
    COMPACTION = enum.auto()
    MODELS = enum.auto()
    OWN = enum.auto()


@dataclass(frozen=True)
class Counterpart:
    """The endpoint of chat-completions servers that does the same: its path, what it is asked for a
    client's request, and the answer in the client's words, for a reply that took so many
    nanoseconds. Both raise RequestError.
    """

    path: str
    request: Callable[[Fields], dict[str, object]]
    reply: Callable[[Fields, int], dict[str, object]]


@dataclass(frozen=True, eq=False)
class Endpoint:
    """`dialect`: the name of the dialect that its clients speak. `method`, `path` and `prefix`:
    regular expressions. `kind`: in the name of a recording. `shared`: its clients' headers tell
    their dialect, which may be another one. `counterpart`: where the server is asked in place of
    an answer of the addon's own.
    """

    dialect: str
    purpose: Purpose
    method: str
    path: str
    kind: str = "exchange"
    prefix: str = r"(?P<prefix>[^?]*?)"
    shared: bool = False
    counterpart: Counterpart | None = None

    @property
    def is_chat(self) -> bool:
        """Tell whether the reply is a model's."""
        return self.purpose in (Purpose.REPLY, Purpose.COMPACTION)

    @property
    def is_count(self) -> bool:
        """Tell whether the tokens of its body are to be counted, and no more."""
        return self.purpose is Purpose.COUNT

    @property
    def is_request(self) -> bool:
        """Tell whether the body asks a model something."""
        return self.is_chat or self.is_count

    @property
    def is_own(self) -> bool:
        """Tell whether the addon answers by itself."""
        return self.purpose is Purpose.OWN

    @property
    def lists_models(self) -> bool:
        """Tell whether the reply is the server's list of models."""
        return self.purpose is Purpose.MODELS

    def prefix_of(self, method: str, path: str) -> str | None:
        """Return the part of a request's path before the endpoint; None for a request that is
        to another endpoint.
        """
        slash = f"/{'?' if self.path else ''}"
        match = re.fullmatch(rf"{self.prefix}{self.path}{slash}(?:\?.*)?", path)
        if not match or not re.fullmatch(self.method, method):
            return None
        return match["prefix"].rstrip("/")
