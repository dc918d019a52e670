"""Reads from a flow what people are shown: the server's request and response, transcripts, the
settings by which a reply is read, and facts about the reply.
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
from converter.addon.mitmproxy_internals import flow_backup
from converter.addon.transcript import reply, request
from converter.addon.transcript.reply import AS_WRITTEN
from converter.addon.transcript.turns import Transcript
from converter.core.model.initial_state import InitialState
from converter.core.reading.reading import Expected


def sent_of(flow: Flow | None) -> Request | None:
    """Return the request that the server got: from the record of a running exchange, else from the
    flow's backup. None if the flow itself has this request, because it is the same as the client's
    or the server has not answered yet, or if it is no longer kept.
    """
    if flow and (running := RUNNING_RECORDS.get(flow.id)):
        return running.sides.server_request
    state = flow_backup(flow).get("request")
    # A copy of the state, because `from_state` empties its argument.
    return Request.from_state({**state}) if state else None


def backup_of(flow: Flow | None) -> Response | None:
    """Return a copy of the response that the server sent, from the flow's backup. None if it is the
    same as the client's, which the flow has, or is no longer kept.
    """
    state = flow_backup(flow).get("response")
    # A copy of the state, because `from_state` empties its argument.
    return Response.from_state({**state}) if state else None


def reading_of(flow: Flow | None, of_server: bool) -> tuple[Settings, Expected]:
    """Return the settings and facts by which a flow's reply is to be read; the defaults if there is
    no HTTP flow. `of_server`: True for the reply that the server sent, False for the one that the
    client got.

    The server's reply is read as the addon read it when it came. The client's reply was written by
    the addon, so a tag in its text stays text. But if the flow has no backup, and none was removed
    to save memory, the addon changed nothing: then both replies are the same, and are read alike.
    """
    if not isinstance(flow, HTTPFlow):
        return settings.read(), Expected()
    noted = notes_of(flow)
    try:
        chosen = settings.read(noted.get("options") or {})  # type: ignore[arg-type]  # or it fails
        begins = InitialState(noted.get("begins", InitialState.TEXT.value))
    except (ValueError, TypeError, AttributeError):  # Another version has written the notes.
        chosen, begins = settings.read(), InitialState.TEXT
    if of_server or not (noted and (flow_backup(flow) or noted.get(LET_GO))):
        request_body = content_of(flow.request)
        # Some marks of thoughts count only for models with certain names.
        return chosen, Expected(begins, model_of(request_body))
    return AS_WRITTEN, Expected()


def facts_of(flow: Flow | None) -> dict[str, object]:
    """Return facts about a flow's reply: `first_byte` and `end` in seconds after the request, the
    summary in the flow's notes, and, if the reply broke off, the reason as `broke_off`. Empty if
    there is no response.
    """
    if not isinstance(flow, HTTPFlow) or not flow.response:
        return {}
    noted, began, response = notes_of(flow), flow.request.timestamp_start, flow.response
    times = {"first_byte": response.timestamp_start, "end": response.timestamp_end}
    facts = {name: round(at - began, 3) for name, at in times.items() if at} | summary_of(noted)
    # A reply with a finish is complete even if its connection broke then: SDKs close the
    # connection at the last event.
    if (ended := noted.get("ended")) and not facts.get("finish"):
        facts["broke_off"] = ended
    return facts


def transcript_of(flow: HTTPFlow) -> tuple[Transcript, Mapping[str, object]]:
    """Return the client's request and reply as one transcript, and the result of `facts_of`."""
    chosen, _ = reading_of(flow, of_server=True)
    question, answer = request.read(content_of(flow.request), chosen), answer_of(flow)
    turns, rest = (*question.turns, *answer.turns), (*question.rest, *answer.rest)
    return replace(answer, turns=turns, settings=question.settings, rest=rest), facts_of(flow)


def answer_of(flow: HTTPFlow) -> Transcript:
    """Return the transcript of the reply that the client got."""
    return read_reply(flow.response, *reading_of(flow, of_server=False))


def read_reply(response: Response | None, chosen: Settings, expected: Expected) -> Transcript:
    """Return the transcript of the reply in a response; an empty transcript for None. `chosen` and
    `expected` are the results of `reading_of`.
    """
    if response is None:
        return Transcript()
    content_type = response.headers.get("content-type", "")
    return reply.read(content_of(response), chosen, content_type, expected=expected)
