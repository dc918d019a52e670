"""The remedy for a misread reply: finds the options with which the reply would have been read
rightly (`remedy_of`), reads it again with them, or sets them for all later replies.

The remedy follows from the note in the flow's comment, which says how the reply was misread
(`converter.core.reply.reply_notes`).
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

from mitmproxy import ctx
from mitmproxy.http import HTTPFlow

from converter.addon.exchange import settings
from converter.addon.keep.flow_record import notes_of
from converter.addon.keep.shown_flow import backup_of, read_reply, reading_of
from converter.core.model.conversation import TextBlock, ThinkingBlock
from converter.core.reply.reply_notes import MISREAD

type Options = Mapping[str, Sequence[str]]
"""Values of options of the addon, by their names without `think_`."""

_OPENER_MISSING, _CLOSER_MISSING, _UNREAD = MISREAD
_NOTED_OPENER = re.compile(r"<([^<>\s]+)>(?= begins the text)")
"""Finds the opener in a note such as `<mull> begins the text, and no family reads it, ...`. The
group is the tag's name, `mull`.
"""
_NOTED_PAIR = re.compile(r"--set think_tags='([^']+)'")
"""Finds the option at the end of such a note, `--set think_tags='<mull> </mull>'`. The group is the
pair of opener and closer.
"""


def remedy_of(comment: str) -> Options:
    """Return the options that read a misread reply rightly: `{"start": ["text"]}`. They follow from
    the note on misreading in the flow's `comment`. Return `{}` without such a note.
    """
    if _OPENER_MISSING in comment:
        return {"start": ["thinking"]}
    if _CLOSER_MISSING in comment:
        return {"start": ["text"]}
    if _UNREAD not in comment:
        return {}
    if pair := _NOTED_PAIR.search(comment):
        return {"tags": ["auto", pair[1]]}
    # A comment has only the beginning of a long note. If the options at the note's end are cut off,
    # the closer is made from the opener at the note's beginning.
    opener = _NOTED_OPENER.search(comment)
    return {"tags": ["auto", f"{opener[0]} </{opener[1]}>"]} if opener else {}


def as_arguments(options: Options) -> str:
    """Return options as arguments of a command line: `--set think_start=text`."""
    pairs = [f"think_{name}={value}" for name, values in options.items() for value in values]
    return shlex.join(word for pair in pairs for word in ("--set", pair))


def reread(flow: HTTPFlow) -> dict[str, str]:
    """Read a misread reply again with the options of its remedy; return the `thinking` and `text`
    of its first turn. Raises ValueError for a reply that was not misread.
    """
    chosen = _remedy_or_error(flow)
    _, expected = reading_of(flow, of_server=True)
    noted = notes_of(flow).get("options")
    options = {**(noted if isinstance(noted, dict) else {}), **_typed_values(chosen)}
    answer = read_reply(backup_of(flow) or flow.response, settings.read(options), expected)
    parts = [part for turn in answer.turns[:1] for part in turn.parts]
    thoughts = [part.text for part in parts if isinstance(part, ThinkingBlock)]
    texts = [part.text for part in parts if isinstance(part, TextBlock)]
    return {"thinking": _join_texts(thoughts), "text": _join_texts(texts)}


def _join_texts(texts: Iterable[str]) -> str:
    """Join texts with a blank line between two, without line ends around each: this is the form of
    the texts in a recording's `Expectation`.
    """
    return "\n\n".join(filter(None, (each.strip("\r\n") for each in texts)))


def apply_remedy(flow: HTTPFlow) -> str:
    """Set the options of a misread reply's remedy for all later replies; return a line that names
    the options. Raises ValueError for a reply that was not misread.
    """
    chosen = _remedy_or_error(flow)
    options = {f"think_{name}": value for name, value in _typed_values(chosen).items()}
    if "tags" in chosen:
        options["think_tags"] = list(dict.fromkeys([*ctx.options.think_tags, *chosen["tags"]]))
    ctx.options.update(**options)
    return f"set until the proxy ends: {as_arguments(chosen)}"


def _remedy_or_error(flow: HTTPFlow) -> Options:
    """Return the options of a misread reply's remedy. Raises ValueError for a reply that was not
    misread.
    """
    if options := remedy_of(flow.comment):
        return options
    raise ValueError("expected a reply that was misread, and this one was not")


def _typed_values(options: Options) -> dict[str, object]:
    """Return options in mitmproxy's types: a list for `tags`, a string for `start`."""
    return {name: list(each) if name == "tags" else each[0] for name, each in options.items()}
