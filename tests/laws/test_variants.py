"""The variants of a reply: which clients, which forms, which cuts."""

import pytest

from converter.core.dialects.table import ANTHROPIC, OLLAMA, OPENAI_CHAT, RESPONSES, Dialect, Form
from converter.core.reply.reporting import ReportingRewriter
from converter.extras.recordings.recording import Recording
from laws.failures import BrokenLawError
from laws.variants import (
    Variant,
    body_of,
    cut_anywhere,
    rewrite,
    seeded_random,
    variants,
    with_body,
)
from tests.support.native_streams import STREAMS
from tests.support.recordings_of import native, of_whole, streamed

BOTH_FORMS = [Variant(ANTHROPIC, form) for form in Form]
OTHERS = [Variant(client, form) for client in (ANTHROPIC, RESPONSES, OLLAMA) for form in Form]


@pytest.mark.parametrize(
    ("recording", "form"), [(streamed("a"), Form.STREAM), (of_whole("a"), Form.WHOLE)]
)
def test_a_reply_goes_to_all_clients_to_those_of_other_dialects_in_both_forms(
    recording: Recording, form: Form
) -> None:
    assert list(variants(recording)) == [Variant(OPENAI_CHAT, form), *OTHERS]
    assert list(variants(recording, ANTHROPIC)) == BOTH_FORMS
    assert list(variants(recording, OPENAI_CHAT)) == [Variant(OPENAI_CHAT, form)]


def test_a_servers_own_messages_reply_goes_to_anthropic_clients_as_it_came() -> None:
    recording = native(STREAMS["pings"][0])
    assert list(variants(recording)) == [Variant(ANTHROPIC, Form.STREAM)]
    assert list(variants(recording, OPENAI_CHAT)) == []


def test_a_reply_is_rewritten_with_the_options_that_were_in_force() -> None:
    recording = with_body(streamed("a"), streamed("[T]b[/T]c").body, tags=["[T] [/T]"])
    assert b"[T]" not in body_of(recording, Variant(OPENAI_CHAT, Form.STREAM))
    assert b"[T]" in body_of(streamed("[T]b[/T]c"), Variant(OPENAI_CHAT, Form.STREAM))


def test_another_body_may_have_another_form() -> None:
    whole = with_body(streamed("a"), of_whole("b").body, Form.WHOLE)
    assert (whole.server_form, whole.body) == (Form.WHOLE, of_whole("b").body)


def test_a_fault_that_the_rewriter_survives_is_one_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("converter.core.reading.engine.engine.Engine.feed", lambda *_: 1 / 0)
    with pytest.raises(BrokenLawError, match=r"fault of the addon.*ZeroDivisionError"):
        rewrite(streamed("a"), Variant(OPENAI_CHAT, Form.STREAM))


def test_a_reply_as_it_came_is_rewritten_once_for_all_laws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Recording] = []
    rewriter = Recording.rewriter

    def noted(recording: Recording, client: Dialect, form: Form) -> ReportingRewriter:
        made.append(recording)
        return rewriter(recording, client, form)

    monkeypatch.setattr(Recording, "rewriter", noted)
    one, same = streamed("a"), streamed("a")
    for recording in (one, one, same):
        assert b"a" in body_of(recording, Variant(OPENAI_CHAT, Form.STREAM))
    assert list(map(id, made)) == [id(one), id(same)]


def test_an_empty_piece_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("converter.core.reply.rewriter.Rewriter.close", lambda _: [b""])
    with pytest.raises(BrokenLawError, match="is empty"):
        rewrite(streamed("a"), Variant(OPENAI_CHAT, Form.STREAM))


@pytest.mark.parametrize("whole", ["", "a", "ab", "abcdefgh" * 9])
def test_drawn_cuts_lose_nothing_hold_no_empty_piece_and_are_the_same_each_time(whole: str) -> None:
    cuts = [
        [cut_anywhere(whole, 5, drawing) for _ in range(20)]
        for drawing in (seeded_random(streamed("a"), 1), seeded_random(streamed("a"), 1))
    ]
    assert cuts[0] == cuts[1]
    assert {"".join(pieces) for pieces in cuts[0]} == {whole}
    assert all(len(pieces) <= 5 and (all(pieces) or not whole) for pieces in cuts[0])
    assert (
        cuts[0]
        != [
            cut_anywhere(whole, 5, seeded_random(streamed("a", name="other"), 1)) for _ in range(20)
        ]
        or len(whole) < 3
    )
