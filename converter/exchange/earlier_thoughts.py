"""Thoughts of earlier turns in a chat completion, and what its template is told of them."""

from collections.abc import Mapping

from converter.servers.chat_templates import History

type Body = Mapping[str, object]

_TEMPLATE = "chat_template_kwargs"


def switched(body: Body, history: History) -> Body:
    """Return the request with the switches without which its template drops the thoughts in it.
    What the client itself says of them counts.
    """
    told = body.get(_TEMPLATE)
    said = told if isinstance(told, dict) else {}
    if not any(message.get(history.place) for message in _messages(body)):
        return body
    switches = {**history.switches, **said}
    return {**body, _TEMPLATE: switches} if switches else body


def _messages(body: Body) -> list[Body]:
    messages = body.get("messages")
    listed = messages if isinstance(messages, list) else []
    return [message if isinstance(message, dict) else {} for message in listed]
