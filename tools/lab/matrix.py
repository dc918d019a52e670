"""The questions to every server through the addon, and a judge for each."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from tools.lab.asking import DIALECTS, FORMS, Answer, Question, ask

SUM, WEATHER = "12 * 7", "What is the weather in Oslo?"
_MARKS = re.compile(r"</?think|</?tool_call|<\|im_")
_LONG = "word " * 90_000
"""A text longer than any window of the lab."""

type Judge = Callable[[Answer], str]
"""Returns the fault of an answer, empty for a good one."""


def thinks(answer: Answer) -> str:
    """Return the fault unless thinking is apart from an answer."""
    if not answer.thinking:
        return "no thinking"
    return "" if answer.text.strip() and answer.finish == "stop" else "no answer"


def calls(answer: Answer) -> str:
    """Return the fault unless there is one whole call of the tool."""
    called = [
        name
        for name, arguments in answer.calls
        if isinstance(arguments, dict) and "city" in arguments
    ]
    if called == ["get_weather"]:
        return ""
    return f"{len(answer.calls)} calls" if answer.calls else f"no call: {answer.text.strip()[:60]}"


def answers(answer: Answer) -> str:
    """Return the fault unless there is an answer without a call."""
    return "" if answer.text.strip() and not answer.calls else "no answer"


def answers_at_once(answer: Answer) -> str:
    """Return the fault unless there is an answer without a thought."""
    return "thinking" if answer.thinking else answers(answer)


def is_cut(answer: Answer) -> str:
    """Return the fault unless there is nothing but a thought that the limit cut."""
    if answer.finish != "length":
        return f"it ends as {answer.finish}"
    return "" if answer.thinking and not answer.text.strip() else "its thought is text"


def is_stopped(answer: Answer) -> str:
    """Return the fault unless the answer ends before the stop string."""
    return "not stopped" if " is 84" in answer.text else ""


def are_two(answer: Answer) -> str:
    """Return the fault unless there are two choices, each with thinking and answer."""
    wrong = [text for choice in (answer, *answer.others) if (text := thinks(choice))]
    count = 1 + len(answer.others)
    return f"{count} choices" if count != 2 else next(iter(wrong), "")


def is_json(answer: Answer) -> str:
    """Return the fault unless the answer is JSON with the names of the schema."""
    try:
        named = sorted(json.loads(answer.text))
    except (ValueError, TypeError):
        return "cut off" if answer.finish == "length" else "no JSON"
    return "" if named == ["city", "degrees"] else "other JSON"


_TOO_LONG = re.compile("prompt is too long|context_length_exceeded")


def is_taken_or_refused(answer: Answer) -> str:
    """Return the fault unless there is an answer, or an error that does not blame the prompt, which
    clients would shorten in vain.
    """
    if _TOO_LONG.search(answer.error):
        return "the prompt is blamed"
    return is_refused(answer) if answer.error else thinks(answer)


def is_refused(answer: Answer) -> str:
    """Return the fault unless there is an error with a status of the 400s."""
    return "" if re.match(r"4\d\d", answer.error) else "no error of the 400s"


@dataclass(frozen=True, slots=True)
class Case:
    """A row: a question, and the judge of its answers. `dialects`: the dialects that have such a
    request; `not_of`: servers without the feature.
    """

    name: str
    question: Question
    judge: Judge
    dialects: tuple[str, ...] = DIALECTS
    is_error: bool = False
    not_of: tuple[str, ...] = ()


_TAKE_ALL = ("mlx-lm", "mlx-vlm", "ollama", "transformers")
"""Servers that refuse no prompt: two have no limit, and Ollama cuts one in silence."""
_NAMES = "Name a city and its degrees as JSON."
CASES = (
    Case("thinking apart", Question(SUM), thinks),
    Case("tool call", Question(WEATHER, tool=True), calls),
    Case("behind a tool's result", Question(WEATHER, tool=True, result=True), answers),
    Case("thinking off", Question(SUM, off=True), answers_at_once),
    Case("cut in a thought", Question(SUM, most=16), is_cut),
    Case(
        "stop string",
        Question(SUM, stop=" is 84"),
        is_stopped,
        ("chat", "messages", "ollama"),
    ),
    Case("two choices", Question(SUM, choices=2), are_two, ("chat",)),
    Case("JSON by a schema", Question(_NAMES, schema=True), is_json),
    Case("picture for a blind model", Question(SUM, picture=True), thinks),
    Case("wrong model", Question(SUM, model="no-such-model"), is_refused, is_error=True),
    Case("prompt too long", Question(_LONG), is_refused, is_error=True, not_of=_TAKE_ALL),
    Case("reply too long", Question(SUM, most=900_000), is_taken_or_refused, is_error=True),
)

_CASES_OF_A_PEER = ("thinking apart", "tool call", "behind a tool's result")
OWN = [
    replace(case, dialects=("messages", "responses"))
    for case in CASES
    if case.name in _CASES_OF_A_PEER
]
"""The cases for servers' own endpoints of these dialects."""


def verdicts_of(port: int, case: Case) -> Iterator[tuple[str, str]]:
    """Yield the name of each dialect and form, and the fault of the answer."""
    for dialect in case.dialects:
        for streamed, form in FORMS.items():
            answer = ask(port, dialect, case.question, streamed)
            yield f"{dialect} {form}", verdict(case, answer)


def verdict(case: Case, answer: Answer) -> str:
    """Return the fault of an answer; empty for none."""
    if case.is_error:
        return case.judge(answer)
    if answer.error:
        return answer.error[:120]
    text = answer.text + answer.thinking
    if mark := _MARKS.search(text):
        return f"marks in the words: {text[max(0, mark.start() - 30) : mark.end() + 30]}"
    return case.judge(answer)


def summary(verdicts: Mapping[str, str]) -> str:
    """Return a row's cell: `yes`, or the count of good answers and the first fault."""
    wrong = {name: text for name, text in verdicts.items() if text}
    if not wrong:
        return "yes"
    name, text = next(iter(wrong.items()))
    count = f"{len(verdicts) - len(wrong)} of {len(verdicts)}"
    return f"{count}; {name}: {text}"
