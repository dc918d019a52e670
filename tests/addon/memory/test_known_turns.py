"""The newest requests of conversations are known to their owners, and are few."""

from converter.addon.bounds import KNOWN_TURNS, KNOWN_TURNS_BYTES
from converter.addon.memory.known_turns import SHORT, KnownTurns
from converter.core.model.conversation import Turn
from converter.core.model.repeated_turns import RepeatedTurns


def messages(*texts: str) -> list[object]:
    return [{"role": "user", "content": text} for text in texts]


def asked(
    known: KnownTurns, said: list[object], owner: str = "o", size: int = SHORT
) -> RepeatedTurns[Turn] | None:
    """Have a request pass; return the turns of the one before it."""
    turns = known.begin(owner, said)
    before = turns.before
    for message in said:
        turns.read(message, lambda: (Turn("user", ()), False))
    known.keep(owner, turns, size)
    assert turns.before is None
    return before


def test_a_request_finds_the_one_before_it_though_its_last_message_is_another() -> None:
    known = KnownTurns()
    assert asked(known, messages("a", "b", "c")) is None
    assert asked(known, messages("a", "other")) is None
    found = asked(known, messages("a", "b", "unmarked", "d"))
    assert found
    assert found.messages == messages("a", "b", "c")


def test_nobody_finds_the_request_of_another_owner() -> None:
    known = KnownTurns()
    asked(known, messages("a", "b"))
    assert asked(known, messages("a", "b"), owner="p") is None


def test_a_request_without_messages_repeats_none() -> None:
    known = KnownTurns()
    asked(known, messages("a", "b"))
    assert known.begin("o", None).before is None
    assert known.begin("o", "words").before is None


def test_a_request_takes_the_place_of_the_one_before() -> None:
    known = KnownTurns()
    asked(known, messages("other", "one"), size=KNOWN_TURNS_BYTES // 2)
    for number in range(2, 5):
        asked(known, messages("a", *map(str, range(number))), size=KNOWN_TURNS_BYTES // 2)
    assert asked(known, messages("other", "one"), size=SHORT)


def test_a_request_beyond_all_bounds_drives_no_other_out() -> None:
    known = KnownTurns()
    asked(known, messages("a", "b"))
    asked(known, messages("c", "d"), size=KNOWN_TURNS_BYTES + 1)
    assert asked(known, messages("c", "d")) is None
    assert asked(known, messages("a", "b"))


def test_the_oldest_go() -> None:
    known = KnownTurns()
    for number in range(KNOWN_TURNS + 1):
        asked(known, messages(str(number)))
    assert asked(known, messages("0")) is None
    for number in range(3):
        asked(known, messages(f"long {number}"), size=KNOWN_TURNS_BYTES // 2)
    assert asked(known, messages("long 0")) is None
