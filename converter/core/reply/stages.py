"""Lists all stages between decoder and encoder in their order (`STAGES`), each as a function that
makes the stage for a choice. `chain` runs them; each stage's own module has its rules.
"""

from converter.core.calls.assembler import Assembler, Offer
from converter.core.calls.forbidden import ForbiddenCalls
from converter.core.reading.blanks import BlanksTrimmer
from converter.core.reading.call_in_name import call_in_name
from converter.core.reading.engine.stage import ReadingStage
from converter.core.reading.family_choice import families_of
from converter.core.reading.field_answer import FieldAnswer
from converter.core.reading.folding import ThoughtFolder
from converter.core.reading.half_characters import HalfCharacters
from converter.core.reading.reading import NO_LIMITS
from converter.core.reading.stop_strings import StopStrings
from converter.core.reading.thinking_hider import ThinkingHider
from converter.core.reading.thought_ender import ThoughtEnder
from converter.core.reading.turn_end import TurnEnd
from converter.core.reply.chain import Choice, Stage, StageTable
from converter.core.reply.thought_events import ThoughtEventStage


def _field_answer(choice: Choice) -> Stage:
    """Return the stage that finds an answer in a field in which the server should send thinking."""
    closers = tuple(mark for row in families_of(choice.reading) for mark in row.closes)
    return FieldAnswer(choice.expected, closers, choice.findings)


def _reading(choice: Choice) -> Stage:
    """Return the stage that reads the text: it divides it into thinking, answer and calls."""
    named = [choice.reply, str(choice.index or "")]
    ids = "".join(f"{part}_" for part in ("call", *filter(None, named)))
    return ReadingStage(choice.reading, choice.index, choice.findings, ids)


def _assembler(choice: Choice) -> Stage:
    """Return the stage that joins the pieces of each call, and checks its name and arguments."""
    expected, calls, typed = choice.expected, choice.findings.calls, choice.reading.types_values
    offer = Offer(expected.calls.schemas, expected.stops, call_in_name, typed)
    return Assembler(offer, choice.ids, calls.mended_calls, calls.typed_arguments)


def _stop_strings(choice: Choice) -> Stage | None:
    """Return the stage that ends the answer at a stop string of the request; `None` if the addon
    need not look for any.
    """
    cuts, behind = choice.expected.cuts, choice.expected.cuts_behind
    return StopStrings(cuts, behind, choice.findings) if cuts else None


def _thought_ender(choice: Choice) -> Stage | None:
    """Return the stage that acts on thoughts that are too long, repeat themselves or have no answer
    behind them; `None` if no setting wants that and the request has no limit of tokens.
    """
    limits, ends = choice.expected.thoughts.limits, choice.expected.limit
    return ThoughtEnder(limits, choice.findings) if ends or limits != NO_LIMITS else None


def _thought_events(choice: Choice) -> Stage | None:
    """Return the stage that makes a thought event for each thought; `None` if nobody wants them."""
    task, context = choice.expected.thoughts.task, choice.expected.thoughts.context
    return ThoughtEventStage(task, context, choice.thoughts) if task else None


STAGES: StageTable = (
    lambda _: HalfCharacters(),
    _field_answer,
    _reading,
    lambda _: TurnEnd(),
    lambda of: BlanksTrimmer() if of.reading.trims_blanks else None,
    _stop_strings,
    _assembler,
    lambda of: ForbiddenCalls() if of.expected.calls.forbidden else None,
    _thought_ender,
    _thought_events,
    lambda of: ThinkingHider() if of.expected.thoughts.hidden else None,
    lambda of: ThoughtFolder(of.index) if of.expected.thoughts.folds else None,
)
"""A function for each stage, in the order of the stages. It returns the stage for a choice; `None`
if the reply does not need it.
"""
