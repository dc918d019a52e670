"""`notes_of` writes notes for the user's log, one line each, on what the stages found unusual in a
reply: a missing mark, a thought that repeats itself or that was ended. `Findings` has the facts and
the notes on calls. `MISREAD` has parts of the notes on misread replies.
"""

from converter.core.model.initial_state import InitialState
from converter.core.reading.findings import Findings

_CORRECTIONS = {
    InitialState.THINKING: (
        "opener missing: the reply began inside a thought, and its closer stayed in the text"
    ),
    InitialState.TEXT: (
        "closer missing: the reply was read as beginning inside a thought, and no closer came"
    ),
}
"""The state in which a reply really began -> the note, if it was read as beginning in the other
state.
"""
_UNREAD = (
    "{opener} begins the text, and no family reads it, "
    "try --set think_tags=auto --set think_tags='{opener} {closer}'"
)
"""The note on text that begins with an unknown opener (`<mine>`). `opener`, `closer`: the pair of
marks that the model probably writes around its thoughts.
"""
MISREAD = ("opener missing", "closer missing", "no family reads it")
"""Parts of notes. A note with one of them says that the reply was read wrongly."""
_STAYS_CUT = "the reply ends at a thought, as `length`, because no second request could continue it"
"""The note on a reply that no second reply continues, although the addon ended a thought in it."""
NO_ANSWER = "the reply holds a thought and no answer, and its finish is `stop`"
"""The note on a reply that has a thought and no answer, although the model ended it by itself
(`stop`), and not at a limit.
"""
_LONGEST_QUOTE = 200
"""The most characters that a note quotes of the words that a thought repeats."""


def notes_of(findings: Findings) -> list[str]:
    """Return the notes on `findings`, the facts that the stages have learned about the reply."""
    notes = [_CORRECTIONS[findings.beginning.correction]] if findings.beginning.correction else []
    if findings.unread_tag and not findings.has_thinking:
        notes.append(_UNREAD.format(opener=findings.unread_tag[0], closer=findings.unread_tag[1]))
    if findings.unclosed:
        notes.append("a thought that a phrase began ended with the reply")
    if period := findings.repeated_text:
        text = "".join(filter(str.isprintable, " ".join(period)))[:_LONGEST_QUOTE]
        ended = f"was ended behind {findings.ends.at} characters of thinking, because it repeats"
        done = ended if "loop" in findings.ends.reasons else "repeats"
        notes.append(f"a thought {done} itself: {len(period)} words three times: {text}")
    if findings.ends.by_addon and (findings.ends.by_addon > 1 or not findings.ends.turn):
        notes.append(_STAYS_CUT)
    return [*notes, *findings.calls.notes]
