"""Check recordings by the nine laws of `docs/recordings.md`: `LAWS` has a row for each, `laws_of`
yields the laws that apply to a recording (`limits.py` has the exceptions), `check` runs them. The
functions that check one law each are in `laws_of_*.py`.
"""

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from converter.extras.recordings.recording import Recording
from laws import joined
from laws.failures import Broken, BrokenLawError
from laws.laws_of_bytes import law_1, law_8, law_9
from laws.laws_of_clients import NotInstalledError, law_7
from laws.laws_of_content import law_4, law_5, law_6
from laws.laws_of_cuts import law_2, law_3
from laws.laws_of_errors import error_4, error_7, error_8
from laws.limits import Case, limit_of
from laws.variants import DRAWN


@dataclass(frozen=True, slots=True)
class Law:
    """A law, with the function that checks it."""

    number: int  # the number in `docs/recordings.md`
    title: str  # the law in a few words, such as `nothing lost`
    holds: Callable[[Recording, int], None]
    """Raises BrokenLawError if a recording breaks the law. The int: how many random cuts to try."""

    def __str__(self) -> str:
        return f"law {self.number} {self.title}"


LAWS = (
    Law(1, "bytes cut anywhere", law_1),
    Law(2, "text cut anywhere", law_2),
    Law(3, "streamed equals whole", law_3),
    Law(4, "nothing lost", law_4),
    Law(5, "the oracle agrees", law_5),
    Law(6, "no consumed tag leaks", law_6),
    Law(7, "the SDKs read it", law_7),
    Law(8, "random bytes raise nothing", law_8),
    Law(9, "streams of blocks in order", law_9),
)
"""The laws for a reply."""
OF_CONTENT = LAWS[1:5]
"""Laws 2 to 5, which `joined.check_law` checks for a reply that the addon joined from two."""
ERROR_LAWS = (
    Law(4, "nothing lost", error_4),
    Law(7, "the SDKs read it", error_7),
    Law(8, "random bytes raise nothing", error_8),
)
"""The laws for an error response. It is one body without thinking, so that no other law applies."""


def laws_of(recording: Recording) -> Iterator[Law]:
    """Yield the laws that apply to a recording: none if its endpoint is no chat, `ERROR_LAWS` for a
    server's error, else those of `LAWS` that `limits.LIMITS` does not exclude. Raises ValueError
    for a recording that this version cannot read.
    """
    if not recording.exchange().endpoint.is_chat:
        return
    if not 200 <= recording.server_reply.status < 300:
        yield from ERROR_LAWS
        return
    case = Case(recording)
    yield from (law for law in LAWS if limit_of(law.number, case) is None)


def check_one(law: Law, recording: Recording, drawn: int = DRAWN) -> list[Broken]:
    """Return the first fault by this law, or the error that the check itself met, as a list; empty
    for none. `drawn`: how many random cuts to try. Raises NotInstalledError if an SDK is missing.
    """
    try:
        if law in OF_CONTENT:
            joined.check_law(law.holds, law.number, recording, drawn)
        else:
            law.holds(recording, drawn)
    except BrokenLawError as error:
        return [Broken(recording.name, str(law), error.variant, error.difference)]
    except NotInstalledError:
        raise
    except Exception as error:  # a reply that our plain reader cannot read breaks clients too
        frame = traceback.extract_tb(error.__traceback__)[-1]
        description = f"{type(error).__name__}: {error}\n  in {frame.name}: {frame.line}"
        return [Broken(recording.name, str(law), "while reading what the client gets", description)]
    return []


def check(recording: Recording, drawn: int = DRAWN) -> list[Broken]:
    """Return the first difference for each law that the recording breaks. `drawn`: how many random
    cuts to check for each law. Law 7 is not checked if an SDK is not installed.
    """
    broken: list[Broken] = []
    for law in laws_of(recording):
        try:
            broken += check_one(law, recording, drawn)
        except NotInstalledError:
            continue
    return broken


def messages(recording: Recording, command: str) -> list[str]:
    """Return a message for each broken law; its last line is `command`, the command to run next."""
    return [broken.message(command) for broken in check(recording)]
