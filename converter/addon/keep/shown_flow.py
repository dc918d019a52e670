"""Read a flow for people: the messages of both sides, the settings to read them, transcripts, and
the facts in the flow's notes.
"""

from collections.abc import Mapping
from dataclasses import replace

from mitmproxy.flow import Flow
from mitmproxy.http import HTTPFlow, Request, Response

from converter.addon.exchange import settings
from converter.addon.exchange.settings import Settings
from converter.addon.http_messages import content_of, model_of
from converter.addon.keep.flow_record import RUNNING_RECORDS, notes_of, summary_of
from converter.addon.keep.notes import LET_GO
from converter.addon.mitmproxy_internals import state_before
from converter.addon.transcript import reply, request
from converter.addon.transcript.reply import AS_WRITTEN
from converter.addon.transcript.turns import Transcript
from converter.core.model.initial_state import InitialState
from converter.core.reading.reading import Expected


def sent_of(flow: Flow | None) -> Request | None:
    """Return the request that the server got; None if it is the client's, or is no longer kept."""
    if flow and (running := RUNNING_RECORDS.get(flow.id)):
        return running.sides.sent
    state = state_before(flow).get("request")
    return Request.from_state({**state}) if state else None  # `from_state` empties its argument.


def backup_of(flow: Flow | None) -> Response | None:
    """Return a copy of the server's response; None if it is the client's, or is no longer kept."""
    state = state_before(flow).get("response")
    return Response.from_state({**state}) if state else None  # `from_state` empties its argument.


def reading_of(flow: Flow | None, of_server: bool) -> tuple[Settings, Expected]:
    """Return the settings and facts to read the flow's reply, the server's or the client's.

    A server's reply is read as the addon read it when it came. A reply that the addon wrote is read
    as it is: tags in its text stay text. The client's reply in a flow without a backup is the
    server's.
    """
    if not isinstance(flow, HTTPFlow):
        return settings.read(), Expected()
    noted = notes_of(flow)
    try:
        chosen = settings.read(noted.get("options") or {})  # type: ignore[arg-type]  # or it fails
        begins = InitialState(noted.get("begins", InitialState.TEXT.value))
    except (ValueError, TypeError, AttributeError):  # The notes are of another version.
        chosen, begins = settings.read(), InitialState.TEXT
    if of_server or not (noted and (state_before(flow) or noted.get(LET_GO))):
        request_body = content_of(flow.request)
        # The model's name is needed, because it may determine the marks of thoughts.
        return chosen, Expected(begins, model_of(request_body))
    return AS_WRITTEN, Expected()


def facts_of(flow: Flow | None) -> dict[str, object]:
    """Return the facts of a reply: mitmproxy's times, the summary in the notes, and why the reply
    broke off.
    """
    if not isinstance(flow, HTTPFlow) or not flow.response:
        return {}
    noted, began, response = notes_of(flow), flow.request.timestamp_start, flow.response
    times = {"first_byte": response.timestamp_start, "end": response.timestamp_end}
    facts = {name: round(at - began, 3) for name, at in times.items() if at} | summary_of(noted)
    # A reply with a finish is complete even if its connection broke: SDKs close it at the last
    # event.
    if (ended := noted.get("ended")) and not facts.get("finish"):
        facts["broke_off"] = ended
    return facts


def transcript_of(flow: HTTPFlow) -> tuple[Transcript, Mapping[str, object]]:
    """Return the client's request and reply as one transcript, and further facts of the reply."""
    chosen, _ = reading_of(flow, of_server=True)
    question, answer = request.read(content_of(flow.request), chosen), answer_of(flow)
    turns, rest = (*question.turns, *answer.turns), (*question.rest, *answer.rest)
    return replace(answer, turns=turns, settings=question.settings, rest=rest), facts_of(flow)


def answer_of(flow: HTTPFlow) -> Transcript:
    """Return the transcript of the client's reply; see `reading_of`."""
    return read_reply(flow.response, *reading_of(flow, of_server=False))


def read_reply(response: Response | None, chosen: Settings, expected: Expected) -> Transcript:
    """Return the transcript of a response, an empty transcript for None."""
    if response is None:
        return Transcript()
    content_type = response.headers.get("content-type", "")
    return reply.read(content_of(response), chosen, content_type, expected=expected)
