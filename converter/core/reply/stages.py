"""The stages between a reply's decoder and its encoder, one row for each, in their order."""

from converter.core.calls.assembler import Assembler, Offer
from converter.core.calls.typed_values import TypedValues
from converter.core.reading.blanks import BlanksTrimmer
from converter.core.reading.budget import ThinkingBudget, ThinkingHider
from converter.core.reading.engine.stage import ReadingStage
from converter.core.reading.folding import ThoughtFolder
from converter.core.reading.half_characters import HalfCharacters
from converter.core.reading.phrases import PhraseStage
from converter.core.reading.reading import NO_LIMITS
from converter.core.reading.thought_ender import ThoughtEnder
from converter.core.reading.unasked_thought import UnaskedThought
from converter.core.reading.unread_tag import UnreadTag
from converter.core.reply.chain import Choice, Stage, Table
from converter.core.reply.thought_events import ThoughtEvents


def _reading(choice: Choice) -> Stage:
    named = [choice.reply, str(choice.index or "")]
    ids = "".join(f"{part}_" for part in ("call", *filter(None, named)))
    return ReadingStage(choice.reading, choice.index, choice.findings, ids)


def _assembler(choice: Choice) -> Stage:
    expected = choice.expected
    offer = Offer(expected.schemas, expected.stops)
    return Assembler(offer, choice.ids, choice.findings.calls.mended)


def _typed_values(choice: Choice) -> Stage | None:
    schemas = choice.expected.schemas
    changed = choice.findings.calls.typed
    return TypedValues(schemas, changed) if schemas and choice.reading.types_values else None


STAGES: Table = (
    lambda _: HalfCharacters(),
    lambda of: UnaskedThought(of.findings) if of.expected.told_off else None,
    _reading,
    lambda of: UnreadTag(of.findings) if of.reading.tags else None,
    lambda of: PhraseStage(of.index, of.findings) if of.reading.phrases else None,
    lambda of: BlanksTrimmer() if of.reading.trims_blanks else None,
    _assembler,
    _typed_values,
    lambda of: (
        None if of.expected.limits == NO_LIMITS else ThoughtEnder(of.expected.limits, of.findings)
    ),
    lambda of: (
        ThoughtEvents(of.expected.task, of.expected.context, of.thoughts)
        if of.expected.task
        else None
    ),
    lambda of: (
        None if of.expected.budget is None else ThinkingBudget(of.expected.budget, of.findings)
    ),
    lambda of: ThinkingHider() if of.expected.hidden else None,
    lambda of: ThoughtFolder(of.index) if of.expected.folds else None,
)
