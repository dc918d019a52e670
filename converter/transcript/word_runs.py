"""Runs of words among events, joined: a stream's frames have some letters each."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from converter.model.events import Event, Text, Thinking


def joined(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events with runs of words as one: a stream's frames have some letters each, and all
    machines cost by the event.
    """
    run: list[Text | Thinking] = []
    for event in events:
        if run and not _goes_on(run[0], event):
            yield _one(run)
            run = []
        if isinstance(event, (Text, Thinking)):
            run.append(event)
        else:
            yield event
    if run:
        yield _one(run)


def _goes_on(first: Text | Thinking, event: Event) -> bool:
    return type(event) is type(first) and _place(first) == _place(event)


def _place(event: Text | Thinking) -> tuple[object, ...]:
    """Return where the words stood: the choice, and the fields of the server's own."""
    names = tuple(event.own.fields) if event.own else None
    return event.choice, names, isinstance(event, Text) and event.refusal


def _one(run: list[Text | Thinking]) -> Text | Thinking:
    return run[0] if len(run) == 1 else replace(run[0], text="".join(event.text for event in run))
