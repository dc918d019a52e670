"""Known servers and their models: the kind of each server, how its prompts end, where a guess was
wrong, which models think.

Values in memory only. `converter.shell.probes.upstream_client` asks the servers, replies teach the
rest.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from converter.model.initial_state import InitialState
from converter.servers import initial_state, refusals
from converter.servers.initial_state import Facts, switch_of
from converter.servers.profiles import Server
from converter.wire.bounds import MOST_KNOWN

type Body = Mapping[str, object]
type Key = tuple[Upstream, bytes]
"""A server, and a digest of the other grounds: names and switches may be of any length."""


class Bounded[Name, Value](OrderedDict[Name, Value]):
    """A dictionary of the newest `MOST_KNOWN` entries; writing one makes it the newest."""

    def __setitem__(self, name: Name, value: Value) -> None:
        super().__setitem__(name, value)
        self.move_to_end(name)
        if len(self) > MOST_KNOWN:
            self.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server's API: where it is, and the prefix of its paths.

    `direct`: not behind another proxy, which probes would go around.
    """

    scheme: str
    host: str
    port: int
    prefix: str = ""
    direct: bool = True

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.prefix}"


def prompt_key(upstream: Upstream, body: Body) -> Key:
    """Return the traits that prompts of one end share: server, model and thinking switches."""
    return upstream, _digest(str(body.get("model")), switch_of(body))


def _model_key(upstream: Upstream, body: Body) -> Key:
    return upstream, _digest(str(body.get("model")))


def _digest(*parts: str) -> bytes:
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(joined).digest()


class KnownServers:
    """The memory of one proxy."""

    def __init__(self) -> None:
        self._servers: Bounded[Upstream, Server] = Bounded()
        self._repeat_openers: Bounded[Upstream, None] = Bounded()
        self._take_thinking_out: Bounded[Upstream, None] = Bounded()
        self._prompts: Bounded[Key, InitialState | None] = Bounded()
        self._corrections: Bounded[Key, InitialState] = Bounded()
        self._thinkers: Bounded[Key, None] = Bounded()
        self._refused: Bounded[Upstream, dict[bytes, frozenset[str]]] = Bounded()
        self._blind: Bounded[Key, None] = Bounded()

    def recognised(self, upstream: Upstream, server: Server) -> None:
        """Remember the kind of a server."""
        self._servers[upstream] = server

    def server(self, upstream: Upstream) -> Server | None:
        """Return the server's row, None until it has been recognised."""
        return self._servers.get(upstream)

    def saw_repeated_opener(self, upstream: Upstream) -> None:
        """Remember that the server's text repeats the template's opener."""
        self._repeat_openers[upstream] = None

    def saw_thinking(self, upstream: Upstream) -> None:
        """Remember that the server takes thinking out of the text itself."""
        self._take_thinking_out[upstream] = None

    def takes_thinking_out(self, upstream: Upstream) -> bool:
        """Tell whether the server has been seen to take thinking out of the text itself."""
        return upstream in self._take_thinking_out

    def saw_prompt(self, upstream: Upstream, body: Body, state: InitialState | None) -> None:
        """Remember where such a prompt ends; None: the server cannot tell."""
        self._prompts[prompt_key(upstream, body)] = state

    def has_prompt(self, upstream: Upstream, body: Body) -> bool:
        """Tell whether the server has been asked where such a prompt ends."""
        return prompt_key(upstream, body) in self._prompts

    def correct(self, upstream: Upstream, body: Body, state: InitialState) -> None:
        """Remember where a reply did begin, after a guess."""
        self._corrections[prompt_key(upstream, body)] = state

    def saw_thought(self, upstream: Upstream, body: Body) -> None:
        """Remember that the model thinks unasked."""
        self._thinkers[_model_key(upstream, body)] = None

    def thinks(self, upstream: Upstream, body: Body) -> bool:
        """Tell whether the model is known to think by itself."""
        seen = _model_key(upstream, body) in self._thinkers
        named = initial_state.model(Facts(body))
        return seen or (named is not None and named.inside)

    def saw_refusal(self, upstream: Upstream, body: Body, names: frozenset[str]) -> None:
        """Remember what of a request the server refuses, and takes without."""
        if refusals.PICTURES in names:
            self._blind[_model_key(upstream, body)] = None
        if held := refusals.refused_schemas(body, names):
            newest = list(({**self._refused.get(upstream, {}), **held}).items())[-MOST_KNOWN:]
            self._refused[upstream] = dict(newest)

    def spared(self, upstream: Upstream, body: Body, pictures: bool) -> Body:
        """Return a request without what the server has refused; the same one if that is nothing.
        `pictures`: they may be left out.
        """
        if pictures and _model_key(upstream, body) in self._blind:
            body = refusals.without_pictures(body)
        held = self._refused.get(upstream)
        return refusals.without_schemas(body, held) if held else body

    def facts(self, upstream: Upstream, body: Body) -> Facts:
        """Return the facts that the rules may go by for the reply to this request."""
        key = prompt_key(upstream, body)
        whole = upstream in self._repeat_openers or self.takes_thinking_out(upstream)
        return Facts(body, whole, self._prompts.get(key), self._corrections.get(key))
