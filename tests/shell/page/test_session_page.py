"""A session as one file."""

import pytest

from converter.shell.page.session_page import SessionPage
from tests.shell.page.test_session import ASKED, CALLED, FOUND, SYSTEM, asked, exchange
from tests.transcript.test_html import HOSTILE, Read

GIVEN = {"role": "user", "content": "Look"}
SESSION = (
    exchange("1", asked(SYSTEM, ASKED), "1", title="Mend b.py", waited=1.25, client=HOSTILE),
    exchange("2", asked(SYSTEM, GIVEN), "2", "1", title="Look"),
    exchange("3", asked(SYSTEM, {"role": "user", "content": HOSTILE}), "3", "2", title=HOSTILE),
    exchange("4", asked(SYSTEM, ASKED, CALLED, FOUND), "1", title="Mend b.py", output_tokens=1200),
)


def test_branches_stand_behind_what_began_them() -> None:
    written = SessionPage(SESSION, "", saved=True).write()
    places = [written.index(f'<article id="x{number}">') for number in (1, 2, 3, 4)]
    assert places == sorted(places)
    assert written.count('<details class="part branch" open>') == 2
    assert "Sub-agent · Look" in written
    assert "waited 1.2 s" in written
    assert "1,200 written" in written


def test_nothing_in_it_is_markup_that_others_wrote() -> None:
    name = f'"{HOSTILE}'  # flows of a file may be called anything
    hostile = exchange(name, asked(ASKED), name, "1", title=HOSTILE, model=HOSTILE)
    for page in (
        SessionPage([*SESSION, hostile], "<style></style>", saved=True),
        SessionPage([*SESSION, hostile], "", saved=False),
    ):
        read = Read(page.write(("1", "3")))
        assert read.open == []
        assert "script" not in read.seen


def test_a_saved_file_asks_for_nothing() -> None:
    written = SessionPage(SESSION, "<style>i {}</style>", saved=True).write()
    read = Read(written)
    assert not {"a", "form", "link"} & read.seen
    assert not {"href", "action"} & {name for name, _ in read.attributes}
    assert "default-src 'none'" in written


def test_two_requests_are_compared() -> None:
    page = SessionPage(SESSION, "", saved=False)
    assert '<option value="2">2 · Look</option>' in page.write()
    assert "What differs" not in page.write()
    differs = page.write(("1", "2"))
    assert "<summary>message 1 (user)" in differs
    assert "<del>-Mend b.py</del>\n<ins>+Look</ins>" in differs
    assert "Nothing." in page.write(("1", "1"))
    assert "What differs" not in page.write(("1", "gone"))


@pytest.mark.parametrize("gone", [(0,), (1,), (0, 3), (0, 1), (1, 2), (0, 2, 3)])
def test_what_is_left_of_a_session_is_told_whole(gone: tuple[int, ...]) -> None:
    """mitmweb's list lets go of flows, the first of a session or of a branch as well."""
    left = [each for number, each in enumerate(SESSION) if number not in gone]
    written = SessionPage(left, "", saved=True).write()
    assert written.count("<article ") == len(left)
    assert all(f'<article id="x{number}">' in written for number in range(1, len(left) + 1))


def test_nothing_left_is_an_empty_page() -> None:
    assert "<h1>A session</h1>" in SessionPage([], "", saved=False).write()


def test_a_later_branch_of_a_branch_that_lost_its_first_stays_in_it() -> None:
    goes_on = exchange("5", asked(SYSTEM, GIVEN, CALLED, FOUND), "2", "1", title="Look")
    left = [SESSION[0], SESSION[2], goes_on]
    written = SessionPage(left, "", saved=True).write()
    assert written.count('<details class="part branch" open>') == 2
