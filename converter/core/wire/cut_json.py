"""An object of JSON that was cut off: whether it was, and what of it is complete."""

from converter.core.wire.json_reader import JsonPart, JsonReader, Want
from converter.core.wire.partial_json import PartialJson


def is_open(text: str) -> bool:
    """Return True if an object was cut off: it has no end, but nothing wrong in it."""
    read = PartialJson()
    read.feed(text)
    return not read.complete and not read.unfit


def complete_part(text: str, cut_string: bool = False) -> str:
    """Return an object that was cut off, with its complete fields, as SDKs read a stream.
    `cut_string`: and with the beginning of the last one, if that is a string.
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
