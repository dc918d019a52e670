"""List the lab's questions to servers (`CASES`), each with a judge that finds an answer's fault.
`asking.py` sends them, `servers.py` starts the servers.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from tools.lab.asking import DELIVERIES, DIALECTS, Answer, Question, ask

SUM, WEATHER = "12 * 7", "What is the weather in Oslo?"
_MARKS = re.compile(r"</?think|</?tool_call|<\|im_")
"""The pattern of a mark, which must not be left in thinking or text."""
_LONG_PROMPT = "word " * 90_000
"""A prompt longer than the context window of any server in the lab."""

type Judge = Callable[[Answer], str]
"""A function that returns the fault of an answer; an empty text if the answer is right."""


def fault_unless_thinking_apart(answer: Answer) -> str:
    """Return the answer's fault, or an empty text if the answer is right.

    It is right if it has thinking and text, each in its field, and its finish is `stop`.
    """
    if not answer.thinking:
        return "no thinking"
    return "" if answer.text.strip() and answer.finish == "stop" else "no answer"


def fault_unless_one_call(answer: Answer) -> str:
    """Return the answer's fault, or an empty text if the answer is right.

    It is right if just one of its calls has an argument `city`, and calls `get_weather`.
    """
    called = [
        name
        for name, arguments in answer.calls
        if isinstance(arguments, dict) and "city" in arguments
    ]
    if called == ["get_weather"]:
        return ""
    return f"{len(answer.calls)} calls" if answer.calls else f"no call: {answer.text.strip()[:60]}"


def fault_unless_answer(answer: Answer) -> str:
    """Return the answer's fault, or an empty text if the answer is right.

    It is right if it has text and no call. Thinking does not matter.
    """
    return "" if answer.text.strip() and not answer.calls else "no answer"


def fault_unless_no_thought(answer: Answer) -> str:
    """Return the answer's fault, or an empty text if the answer is right.

    It is right if it has text, and neither thinking nor a call.
    """
    return "thinking" if answer.thinking else fault_unless_answer(answer)


def fault_unless_cut(answer: Answer) -> str:
    """Return the answer's fault, or an empty text if the answer is right.

    It is right if the limit of tokens cut it in its thought: it has thinking and no text.
    """
    if answer.finish != "length":
        return f"it ends as {answer.finish}"
    return "" if answer.thinking and not answer.text.strip() else "its thought is text"


def fault_unless_stopped(answer: Answer) -> str:
    """Return the answer's fault, or an empty text if the answer is right.

    It is right if its text does not contain the stop string ` is 84`. It may be empty.
    """
    return "not stopped" if " is 84" in answer.text else ""


def fault_unless_two_choices(answer: Answer) -> str:
    """Return the fault of an answer with several choices, or an empty text if it is right.

    It is right if it has two choices, each of which has thinking, text and the finish `stop`.
    """
    wrong = [
        text for choice in (answer, *answer.others) if (text := fault_unless_thinking_apart(choice))
    ]
    count = 1 + len(answer.others)
    return f"{count} choices" if count != 2 else next(iter(wrong), "")


def fault_unless_json(answer: Answer) -> str:
    """Return the answer's fault, or an empty text if the answer is right.

    It is right if its text is a JSON object with the keys of `SCHEMA`; their values do not matter.
    """
    try:
        named = sorted(json.loads(answer.text))
    except (ValueError, TypeError):
        return "cut off" if answer.finish == "length" else "no JSON"
    return "" if named == ["city", "degrees"] else "other JSON"


_TOO_LONG = re.compile("prompt is too long|context_length_exceeded")
"""The pattern of an error which says that the prompt is too long."""


def fault_unless_taken_or_refused(answer: Answer) -> str:
    """Return the fault of the answer to a request whose limit of tokens is too high, or an empty
    text.

    Right are thinking and text, or an error with a status from 400 to 499. The error must not say
    that the prompt is too long, because clients would then shorten the prompt in vain.
    """
    if _TOO_LONG.search(answer.error):
        return "the prompt is blamed"
    return fault_unless_refused(answer) if answer.error else fault_unless_thinking_apart(answer)


def fault_unless_refused(answer: Answer) -> str:
    """Return the answer's fault, or an empty text if the answer is right.

    It is right if it is an error with a status from 400 to 499.
    """
    return "" if re.match(r"4\d\d", answer.error) else "no error of the 400s"


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the lab's results: a question, and the judge of its answers."""

    name: str
    """The name of the row."""
    question: Question
    """The question of this case."""
    judge: Judge
    """Returns the fault of an answer, or an empty text if the answer is right."""
    dialects: tuple[str, ...] = DIALECTS
    """The dialects in which the question is sent."""
    judges_errors: bool = False
    """True if an error can be the right answer, so that the judge gets it; False: it is a fault."""
    skipped_servers: tuple[str, ...] = ()
    """Servers that do not get the question, because they lack the feature."""


_WITHOUT_LIMIT = ("mlx-lm", "mlx-vlm", "ollama", "transformers")
"""Servers that refuse no prompt, however long. Ollama shortens a long one without an error."""
_CITY_AS_JSON = "Name a city and its degrees as JSON."
"""The question whose answer must be JSON."""
CASES = (
    Case("thinking apart", Question(SUM), fault_unless_thinking_apart),
    Case("tool call", Question(WEATHER, tool=True), fault_unless_one_call),
    Case(
        "behind a tool's result",
        Question(WEATHER, tool=True, with_result=True),
        fault_unless_answer,
    ),
    Case("thinking off", Question(SUM, thinking_off=True), fault_unless_no_thought),
    Case("cut in a thought", Question(SUM, max_tokens=16), fault_unless_cut),
    Case(
        "stop string",
        Question(SUM, stop=" is 84"),
        fault_unless_stopped,
        ("chat", "messages", "ollama"),
    ),
    Case("two choices", Question(SUM, choices=2), fault_unless_two_choices, ("chat",)),
    Case("JSON by a schema", Question(_CITY_AS_JSON, schema=True), fault_unless_json),
    Case("picture for a blind model", Question(SUM, picture=True), fault_unless_thinking_apart),
    Case(
        "wrong model",
        Question(SUM, model="no-such-model"),
        fault_unless_refused,
        judges_errors=True,
    ),
    Case(
        "prompt too long",
        Question(_LONG_PROMPT),
        fault_unless_refused,
        judges_errors=True,
        skipped_servers=_WITHOUT_LIMIT,
    ),
    Case(
        "reply too long",
        Question(SUM, max_tokens=900_000),
        fault_unless_taken_or_refused,
        judges_errors=True,
    ),
)
"""The questions to every server. Each is a row of the results."""

_OWN_ENDPOINT_NAMES = ("thinking apart", "tool call", "behind a tool's result")
"""The names of the cases in `OWN_ENDPOINT_CASES`."""
OWN_ENDPOINT_CASES = [
    replace(case, dialects=("messages", "responses"))
    for case in CASES
    if case.name in _OWN_ENDPOINT_NAMES
]
"""The cases that are also sent to the server's own Messages and Responses endpoints."""


def faults_by_delivery(port: int, case: Case) -> Iterator[tuple[str, str]]:
    """Ask a case's question in each of its dialects, streamed and whole; judge the answers.

    Yields pairs: dialect and delivery (`chat streamed`), and the fault, which is empty if the
    answer is right. `port`: the proxy's.
    """
    for dialect in case.dialects:
        for streamed, delivery in DELIVERIES.items():
            answer = ask(port, dialect, case.question, streamed)
            yield f"{dialect} {delivery}", fault_of(case, answer)


def fault_of(case: Case, answer: Answer) -> str:
    """Return the fault of an answer to a case's question; empty if the answer is right.

    If `judges_errors` of the case is True, the judge alone decides. Otherwise an error is a fault,
    and so is a mark left in thinking or text; the judge decides about all other answers.
    """
    if case.judges_errors:
        return case.judge(answer)
    if answer.error:
        return answer.error[:120]
    text = answer.text + answer.thinking
    if mark := _MARKS.search(text):
        return f"marks in the words: {text[max(0, mark.start() - 30) : mark.end() + 30]}"
    return case.judge(answer)


def summary(faults: Mapping[str, str]) -> str:
    """Return a row's answers in short: `yes` if all are right; else how many are, and the first
    fault, as in `7 of 8; chat whole: no thinking`.

    `faults`: dialect and delivery -> the fault, empty if the answer is right.
    """
    wrong = {name: text for name, text in faults.items() if text}
    if not wrong:
        return "yes"
    name, text = next(iter(wrong.items()))
    count = f"{len(faults) - len(wrong)} of {len(faults)}"
    return f"{count}; {name}: {text}"
