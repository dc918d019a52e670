"""The engine where it reads nothing but calls, and the text that an engine holds."""

from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.tool_calls.head import Expectations


def call_engine(expectations: Expectations, whole_calls: bool = True) -> Engine:
    """Return an engine for the calls of a text without thoughts."""
    grammar = mark_table((), reads_calls=True)
    return Engine(
        grammar, choice=expectations.choice, expectations=expectations, whole_calls=whole_calls
    )


def held_by(engine: Engine) -> str:
    """Return the text that waits, but for that of a thought."""
    candidate = engine._candidate
    return engine.answer.held_blanks + (candidate.text if candidate else "") + engine._source.rest
