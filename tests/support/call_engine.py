"""The engine where it reads nothing but calls, and the text that an engine holds."""

from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.tool_calls.place import Expectations


def call_engine(asked: Expectations, whole_calls: bool = True) -> Engine:
    """Return an engine for the calls of a text without thoughts."""
    grammar = mark_table((), reads_calls=True)
    return Engine(grammar, choice=asked.choice, asked=asked, whole_calls=whole_calls)


def held_by(engine: Engine) -> str:
    """Return the text that waits, but for that of a thought."""
    call = engine._calling.open
    read = "".join(call.place.text.held) if call else ""
    return engine.answer.lead + read + engine._source.rest
