"""Recognises JSON of an object that was cut off (`is_open`), and returns the part of it that is
complete (`complete_part`).
"""

from converter.core.wire.json_reader import JsonPart, JsonReader, Want
from converter.core.wire.partial_json import PartialJson


def is_open(text: str) -> bool:
    """Return True if `text` is the beginning of a JSON object that lacks its end: `{"a": 1`. An
    empty text is such a beginning, too, and so is JSON with faults that `PartialJson` mends.
    """
    read = PartialJson()
    read.feed(text)
    return not read.complete and not read.unfit


def complete_part(text: str, cut_string: bool = False) -> str:
    """Return the JSON of the complete values in `text`, a JSON object that was cut off. The objects
    and lists that are open are closed. For a text in which no value has begun, return `{}`.

    `{"a": 1, "b": "x` becomes `{"a": 1}`; if `cut_string` is True, it becomes `{"a": 1, "b": "x"}`.
    The SDKs of Anthropic and OpenAI read a call's arguments in the same way while they stream.
    """
    reader, end, closer = JsonReader(Want.VALUE), 0, ""
    for part, _, index in reader.feed(text):
        is_end = part is JsonPart.END and reader.want is not Want.COLON
        if is_end or part in (JsonPart.OPEN, JsonPart.CLOSE, JsonPart.SCALAR):
            end = index
    if reader.end_word(numbers=True) is not None:
        end = len(text)
    elif cut_string and reader.quote == '"' and reader.want is not Want.COLON:
        end, closer = len(text) - len(reader.held), '"'
    return (text[:end] + closer + "".join(reversed(reader.nested))) or "{}"
