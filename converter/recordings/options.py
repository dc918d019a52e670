"""Options as a command line writes them, `think_tags=auto`, for a recording."""

from collections.abc import Mapping, Sequence

from converter.exchange import settings
from converter.recordings.recording import RecordingError

_PREFIX = "think_"
_OPTIONS = {option.name: option for option in settings.OPTIONS}


def with_options(known: Mapping[str, object], written: Sequence[str]) -> dict[str, object]:
    """Return the options with those that are written; of a sequence all that is written is its
    value. Raises RecordingError.
    """
    chosen = dict(known)
    given: dict[str, list[str]] = {}
    for words in written:
        name, equals, value = words.removeprefix(_PREFIX).partition("=")
        if name not in settings.RECORDED or not equals:
            allowed = ", ".join(_PREFIX + each for each in settings.RECORDED)
            hint = settings.REPLACED.get(name, f"expected NAME=VALUE with one of {allowed}")
            raise RecordingError(f"{hint}, got {words!r}")
        given.setdefault(name, []).append(value)
    chosen |= {name: _value(name, values) for name, values in given.items()}
    try:
        settings.read(chosen)
    except ValueError as error:
        raise RecordingError(str(error)) from None
    return chosen


def _value(name: str, values: list[str]) -> object:
    kind = _OPTIONS[name].type
    if kind is bool:
        return values[-1].lower() == "true"
    if kind is int:
        return int(values[-1]) if values[-1].isdecimal() else values[-1]
    return values[-1] if kind is str else [value for value in values if value]
