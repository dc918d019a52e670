"""A machine of our own that breaks costs the client as little as can be."""

from collections.abc import Callable
from typing import Any

import pytest

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import rewriter_of
from converter.core.dialects.anthropic.encoder import AnthropicEncoder
from converter.core.dialects.openai_chat.decoder import OpenAIDecoder
from converter.core.dialects.openai_chat.encoder import OpenAIEncoder
from converter.core.dialects.responses.response_events import ResponsesEncoder
from converter.core.dialects.table import ANTHROPIC, RESPONSES, Dialect, Form
from converter.core.reading.engine.engine import Engine
from laws import sdk_reading
from tests.support import native_streams as native
from tests.support.frames import DONE, ROLE, USAGE, data, finish, stream, text, whole
from tests.support.frames_of import OPENAI, WHOLE, failure_and_notes, passed, rewriter, values

pytestmark = pytest.mark.slow

MACHINES = [(OpenAIDecoder, "feed"), (Engine, "feed"), (OpenAIEncoder, "feed")]
type Machine = tuple[type, str]


def _break(monkeypatch: pytest.MonkeyPatch, machine: Machine, at: Callable[[int], bool]) -> None:
    """Let a machine raise on the calls that `at` names."""
    kind, name = machine
    works = getattr(kind, name)
    calls = iter(range(10_000))

    def broken(*arguments: Any) -> object:
        if at(next(calls)):
            raise RuntimeError("two\nlines")
        return works(*arguments)

    monkeypatch.setattr(kind, name, broken)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine[0].__name__)
def test_a_frame_that_breaks_a_machine_goes_on_as_it_came(
    monkeypatch: pytest.MonkeyPatch, machine: Machine
) -> None:
    _break(monkeypatch, machine, lambda call: call == 1)
    through = rewriter(OPENAI)
    chunks = [*text("a", "<think>b", "c"), finish()]
    assert passed(through, chunks)[:2] == chunks[:2]
    assert "RuntimeError" in through.notes[0]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine[0].__name__)
def test_a_machine_that_always_breaks_costs_an_openai_client_nothing(
    monkeypatch: pytest.MonkeyPatch, machine: Machine
) -> None:
    _break(monkeypatch, machine, lambda _: True)
    chunks = stream("a", "b")
    assert b"".join(passed(rewriter(OPENAI), chunks)) == b"".join(chunks)


@pytest.mark.parametrize(
    "machine",
    [(OpenAIDecoder, "feed"), (Engine, "feed"), (Engine, "flush"), (OpenAIEncoder, "feed")],
)
def test_a_whole_body_that_breaks_a_machine_goes_on_as_it_came(
    monkeypatch: pytest.MonkeyPatch, machine: Machine
) -> None:
    _break(monkeypatch, machine, lambda call: call == 0)
    assert b"".join(passed(rewriter(OPENAI, WHOLE), [whole("<think>a</think>b")])) == whole(
        "<think>a</think>b"
    )


def test_a_body_whose_second_choice_breaks_a_machine_is_still_one_body(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _break(monkeypatch, (Engine, "feed"), lambda call: call == 1)
    body = data(
        {"choices": [{"index": index, "message": {"content": "<think>a"}} for index in (0, 1)]}
    )[6:]
    assert b"".join(passed(rewriter(OPENAI, WHOLE), [body])) == body


@pytest.mark.parametrize("machine", [(OpenAIEncoder, "close"), (Engine, "flush")])
def test_a_whole_body_is_not_lost_when_its_end_breaks_a_machine(
    monkeypatch: pytest.MonkeyPatch, machine: Machine
) -> None:
    _break(monkeypatch, machine, lambda _: True)
    assert b"".join(passed(rewriter(OPENAI, WHOLE), [whole("<think>a</think>b")])) == whole(
        "<think>a</think>b"
    )


def test_nothing_is_raised_when_the_end_of_an_empty_body_breaks_a_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _break(monkeypatch, (OpenAIEncoder, "close"), lambda _: True)
    assert b"".join(passed(rewriter(OPENAI, WHOLE), [])) == b""


BREAKING = [(OpenAIDecoder, "feed"), (Engine, "feed"), (AnthropicEncoder, "_frames_of")]


@pytest.mark.parametrize("machine", BREAKING, ids=lambda machine: machine[0].__name__)
@pytest.mark.parametrize("always", [False, True])
def test_an_anthropic_client_gets_an_error_and_nothing_after(
    monkeypatch: pytest.MonkeyPatch, machine: Machine, always: bool
) -> None:
    _break(monkeypatch, machine, lambda call: always or call == 1)
    through = rewriter(ANTHROPIC)
    sent = values(passed(through, stream("a", "b", "c")))
    assert [event["type"] for event in sent].index("error") == len(sent) - 1
    assert "RuntimeError" in through.notes[0]


def test_an_anthropic_client_gets_an_error_when_the_end_breaks_a_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _break(monkeypatch, (AnthropicEncoder, "close"), lambda _: True)
    assert values(passed(rewriter(ANTHROPIC), [ROLE, *text("a")]))[-1]["type"] == "error"


def test_a_client_that_wants_a_whole_message_gets_an_error_when_the_end_breaks_a_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _break(monkeypatch, (AnthropicEncoder, "close"), lambda _: True)
    through = rewriter(ANTHROPIC, WHOLE, WHOLE)
    assert b'"type":"error"' in b"".join(passed(through, [whole("a")]))
    assert through.failure


ENCODERS: dict[Dialect, type] = {
    OPENAI: OpenAIEncoder,
    ANTHROPIC: AnthropicEncoder,
    RESPONSES: ResponsesEncoder,
}
FOREIGN = {
    "a chat completions client": (OPENAI, ANTHROPIC, sdk_reading.openai_error),
    "an Anthropic client": (ANTHROPIC, OPENAI, sdk_reading.anthropic_error),
    "a Responses client": (
        RESPONSES,
        OPENAI,
        lambda wire, body, form, status: sdk_reading.responses_error(wire, body, status, form),
    ),
}


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("name", FOREIGN)
def test_a_fault_is_sent_to_each_foreign_client_in_its_own_form(
    monkeypatch: pytest.MonkeyPatch, name: str, form: Form
) -> None:
    client, server, error_of = FOREIGN[name]
    _break(monkeypatch, (ENCODERS[client], "feed"), lambda _: True)
    messages = native.frames([native.start(), *native.end()])
    through = rewriter_of(settings.read(), client, Form.STREAM, form, server=server)
    out = b"".join(passed(through, messages if server is ANTHROPIC else stream("a")))
    raised = error_of(sdk_reading.Wire(), out, form, 200 if form is Form.STREAM else 502)
    assert (
        raised == through.failure == "fault of the addon, please report it: RuntimeError: two lines"
    )
    assert (b"event: error" in out) is (client is not OPENAI and form is Form.STREAM)
    assert b'"api_error"' in out or client is not ANTHROPIC


@pytest.mark.parametrize("machine", MACHINES[:2], ids=lambda machine: machine[0].__name__)
def test_a_note_of_a_fault_is_one_line(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    _break(monkeypatch, machine, lambda _: True)
    assert all("\n" not in line for line in failure_and_notes(rewriter(OPENAI), *stream("a"))[1:])


@pytest.mark.parametrize("client", [OPENAI, ANTHROPIC, RESPONSES], ids=lambda client: client.name)
@pytest.mark.parametrize("after", [[], [USAGE], [USAGE, DONE]], ids=["finish", "usage", "end"])
def test_a_stream_that_breaks_off_behind_its_finish_is_whole(
    client: Dialect, after: list[bytes]
) -> None:
    chunks = [ROLE, *text("<think>deep</think>", "Hello"), finish(), *after]
    broken, ended = rewriter(client), rewriter(client)
    begun = [[piece for one in chunks for piece in each.feed(one)] for each in (broken, ended)]
    rest = broken.abort("the server broke off"), ended.close()
    assert begun[0] == begun[1]
    assert rest[0] == rest[1]
    assert broken.failure == ""
    assert broken.notes == ended.notes
