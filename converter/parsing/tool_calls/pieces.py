"""Neighbouring events of one kind as one, so that text that nobody touched comes out as it was."""

from collections.abc import Iterable
from dataclasses import replace

from converter.model.events import Event, Text, ToolCall


def joined(events: Iterable[Event]) -> list[Event]:
    """Join pieces of one text, and of one call's arguments, that come one after another."""
    groups: list[list[Event]] = []
    for event in events:
        if groups and _belongs(event, groups[-1][-1]):
            groups[-1].append(event)
        else:
            groups.append([event])
    return [_one(group) for group in groups]


def _belongs(event: Event, last: Event) -> bool:
    match last, event:
        case Text(), Text():
            return replace(last, text=event.text) == event
        case ToolCall(), ToolCall(name=""):
            return (last.choice, last.index) == (event.choice, event.index)
        case _:
            return False


def _one(group: list[Event]) -> Event:
    match group[0]:
        case _ if len(group) == 1:
            return group[0]
        case Text() as text:
            return replace(text, text="".join(e.text for e in group if isinstance(e, Text)))
        case ToolCall() as call:
            pieces = [e.arguments for e in group if isinstance(e, ToolCall)]
            ends = any(e.ends for e in group if isinstance(e, ToolCall))
            return replace(call, arguments="".join(pieces), ends=ends)
        case other:
            return other
