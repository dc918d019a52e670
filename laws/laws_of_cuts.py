"""Check laws 2 and 3. A client gets the same message however the server's text is cut into frames
(2, with `recut`), and whether the server streams its reply or sends it whole (3, with `refold`).
"""

from collections.abc import Callable
from functools import partial

from converter.core.dialects.table import OPENAI_CHAT, Form
from converter.core.model.initial_state import InitialState
from converter.extras.recordings.recording import Recording
from laws.client_view import completion_of, view_of, view_of_completion
from laws.expected import reading_for
from laws.failures import compare
from laws.recut import recut_text
from laws.refold import fold, unfold
from laws.variants import IN_BLOCKS, Variant, cut_anywhere, seeded_random, variants, with_body

_PIECES = 6  # the most pieces into which a text is cut at random


def law_2(recording: Recording, drawn: int) -> None:
    """Check that the message is the same if text comes in characters, joined, or cut at random."""
    streamed = as_stream(recording)
    drawing = seeded_random(recording, 2)
    cuts: dict[str, Callable[[str], list[str]]] = {
        "in characters": list,
        "joined": lambda text: [text],
    }
    cuts |= {
        f"drawn cut {number}": partial(cut_anywhere, most=_PIECES, drawing=drawing)
        for number in range(drawn)
    }
    before = {variant: view_of(streamed, variant) for variant in variants(streamed)}
    for name, cut in cuts.items():
        recut = with_body(streamed, recut_text(streamed.body, cut))
        for variant, expected in before.items():
            compare(f"{variant}, the words {name}", expected, view_of(recut, variant))


def as_stream(recording: Recording) -> Recording:
    """Return the recording with the server's reply as a stream."""
    if recording.server_form is Form.STREAM:
        return recording
    body = unfold(recording.body, recording.server_dialect, lambda text: [text] if text else [])
    return with_body(recording, body, Form.STREAM)


def law_3(recording: Recording, _: int) -> None:
    """Check that a client gets the same from the recorded reply and from its other form: a stream
    folded into a body, or a body unfolded into a stream. If server and client both stream, the
    addon must decide early whether the reply begins in a thought. This case is compared only with
    the option `start`, which decides it.
    """
    streamed = as_stream(recording)
    whole = (
        with_body(recording, fold(recording.body, recording.server_dialect), Form.WHOLE)
        if streamed is recording
        else recording
    )
    clients = [client for client in IN_BLOCKS if next(variants(recording, client), None)]
    in_both_forms = [[Variant(client, form) for form in Form] for client in clients]
    for to in in_both_forms:
        _check_same(to, [whole, streamed], skip=(streamed, Form.STREAM))
    inside = reading_for(recording, whole=False).inside
    start = (InitialState.THINKING if inside else InitialState.TEXT).value
    both = (whole, streamed)
    settled = [with_body(each, each.body, each.server_form, start=start) for each in both]
    for to in in_both_forms:
        _check_same(to, settled)
    if recording.server_dialect is OPENAI_CHAT:
        _check_completions(*settled)


def _check_same(
    to: list[Variant], recordings: list[Recording], skip: tuple[Recording, Form] | None = None
) -> None:
    """Check that the variants `to` get the same from all `recordings`. `skip`: a recording and a
    form; what clients get of this recording in this form is not compared. None to compare all.
    """
    pairs = [
        (each, variant)
        for each in recordings
        for variant in to
        if skip is None or (each is not skip[0] or variant.form is not skip[1])
    ]
    expected = view_of(*pairs[0])
    for each, variant in pairs[1:]:
        sent = "streamed" if each.server_form is Form.STREAM else "whole"
        compare(
            f"{variant}, the server's reply {sent}, against both whole",
            expected,
            view_of(each, variant),
        )


def _check_completions(whole: Recording, streamed: Recording) -> None:
    """Check that a chat completions client gets the same in both forms from both recordings."""
    forms = [Variant(OPENAI_CHAT, form) for form in (Form.WHOLE, Form.STREAM)]
    pairs = [(each, variant) for each in (whole, streamed) for variant in forms]
    views = [list(view_of_completion(completion_of(*pair), ordered=False)) for pair in pairs]
    for (each, variant), got in zip(pairs, views, strict=True):
        form = each.server_form.name.lower()
        compare(f"{variant}, of a server's {form}, against both whole", views[0], got)
