"""`think-addon claude --save`: write the client's own file of settings, so that the client works on
the local model without the launcher. `--unsave` removes the settings again.

A setting that the user's file has with another value is not replaced: `--save` stops. A JSON file
gets entries, of which `--unsave` removes those that still have the written value. A TOML or YAML
file gets a block between two comments. The written values are kept in `saved.json` in the folder of
the addon's state.
"""

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from converter.addon.files import FileError, write_whole
from converter.extras.command.addresses import CommandError
from converter.extras.command.clients import CLIENTS, ClientFacts, SavedSettings

_BEGIN, _END = (
    "# think-addon: begin, taken out by `think-addon {name} --unsave`",
    "# think-addon: end",
)
_BLOCK = re.compile(r"(?m)^# think-addon: begin\b.*\n(?:.*\n)*?# think-addon: end\n")
_LOST = object()


def state_folder() -> Path:
    """Return the folder of the addon's state; create it if it is missing."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    folder = Path(state, "think-addon")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def save(name: str, facts: ClientFacts) -> str:
    """Write a client's settings for this proxy and model into the client's file; return lines for
    the user. Raises CommandError, and leaves the user's own entries as they are, if one of them
    has the same key and another value.
    """
    saved = _settings_of(name)
    unsave(name, silent=True)
    path, values = saved.file(), saved.values(facts)
    kind = _KINDS[saved.format]
    before = _read_text(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, kind.added(name, path, before or "", values).encode())
    except (OSError, FileError) as error:
        raise CommandError(f"{path} cannot be written: {error}") from None
    _write({**_load(), name: {"file": str(path), "values": values, "is_new": before is None}})
    return (
        f"{path} points {name} at {facts.proxy}, model {facts.model}.\n"
        f"The proxy must run whenever {name} does. Take it back: think-addon {name} --unsave"
    )


def unsave(name: str, *, silent: bool = False) -> str:
    """Remove the settings that `save` has written and nobody has changed; return lines for the
    user. If nothing was saved, raise CommandError, or return an empty text if `silent`.
    """
    saved, record = _settings_of(name), _load()
    entry = record.pop(name, None)
    if entry is None:
        if silent:
            return ""
        raise CommandError(f"nothing was saved for {name}")
    path = Path(entry["file"])
    text, changed = _KINDS[saved.format].removed(path, _read_text(path) or "", entry["values"])
    if entry["is_new"] and text.strip() in ("", "{}"):
        with suppress(FileNotFoundError):
            path.unlink()
    else:
        write_whole(path, text.encode())
    _write(record)
    kept = f"; these have other values by now, and stay: {', '.join(changed)}" if changed else ""
    return f"{path}: the settings of think-addon were taken out{kept}"


def _settings_of(name: str) -> SavedSettings:
    """Return the settings of the client `name`. Raises CommandError if it has no file for them."""
    if saved := CLIENTS[name].saved:
        return saved
    able = ", ".join(each for each, client in CLIENTS.items() if client.saved)
    raise CommandError(f"expected a client with a file of settings ({able}), got {name}")


def _read_text(path: Path) -> str | None:
    """Return a file's text, None if the file is missing. Raises CommandError if reading fails."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from None


def _load() -> dict[str, Any]:
    """Return the content of `saved.json`: by client, its `file`, written `values` and `is_new`."""
    text = _read_text(state_folder() / "saved.json")
    record: dict[str, Any] = json.loads(text) if text else {}
    return record


def _write(record: Mapping[str, object]) -> None:
    """Replace the content of `saved.json`."""
    write_whole(state_folder() / "saved.json", json.dumps(record, indent=2).encode())


@dataclass(frozen=True, slots=True)
class _Json:
    """Adds settings to a JSON file as entries, such as `{"env": {"NAME": "value"}}`, and removes
    them.
    """

    def added(self, name: str, path: Path, text: str, values: Mapping[str, Any]) -> str:
        """Return the file's `text` with the `values` added. Raises CommandError if the file has
        another value for a key. `name`: the client's name.
        """
        del name
        entries = self._parsed(path, text)
        for keys, value in _leaves(values):
            *outer, last = keys
            within = entries
            for key in outer:
                within = within.setdefault(key, {})
                if not isinstance(within, dict):
                    raise CommandError(_conflict_message(path, ".".join(keys), within))
            if within.get(last, value) != value:
                raise CommandError(_conflict_message(path, ".".join(keys), within[last]))
            within[last] = value
        return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"

    def removed(self, path: Path, text: str, values: Mapping[str, Any]) -> tuple[str, list[str]]:
        """Return the file's `text` without the `values` and without objects that became empty, and
        the keys that have another value by now, which stay.
        """
        entries, changed = self._parsed(path, text), list[str]()
        for keys, value in _leaves(values):
            around = [entries]
            for key in keys[:-1]:
                within = around[-1].get(key)
                around.append(within if isinstance(within, dict) else {})
            present = around[-1].get(keys[-1], _LOST)
            if present == value:
                del around[-1][keys[-1]]
            elif present is not _LOST:
                changed.append(".".join(keys))
            for at in range(len(keys) - 1, 0, -1):
                if not around[at]:
                    around[at - 1].pop(keys[at - 1], None)
        return json.dumps(entries, indent=2, ensure_ascii=False) + "\n", changed

    def _parsed(self, path: Path, text: str) -> dict[str, Any]:
        try:
            entries = json.loads(text or "{}")
        except ValueError:
            entries = None
        if not isinstance(entries, dict):
            raise CommandError(f"expected an object of JSON in {path}, got something else")
        return entries


@dataclass(frozen=True, slots=True)
class _Lines:
    """Adds settings to a TOML or YAML file as a block of lines between two comments, and removes
    it.

    Attributes:
        equals: the text between key and value in a line: ` = ` in TOML, `: ` in YAML.
        first: True if the block begins the file, False if it ends the file. In TOML it must begin
            the file, because a line that follows a table's header belongs to the table.
    """

    equals: str
    first: bool

    def added(self, name: str, path: Path, text: str, values: Mapping[str, Any]) -> str:
        """Return the file's `text` with a block of the `values`. Raises CommandError if the file
        sets one of the keys, or would be no valid TOML. `name`: the client's name.
        """
        for key in values:
            written = rf"(?m)^[\"']?{re.escape(key)}[\"']?[ \t]*{self.equals.strip()}[ \t]*(.*)$"
            if match := re.search(written, text):
                raise CommandError(_conflict_message(path, key, match[1]))
        rows = [f"{key}{self.equals}{json.dumps(value)}" for key, value in values.items()]
        block = "\n".join([_BEGIN.format(name=name), *rows, _END]) + "\n"
        whole = block + text if self.first else text + ("" if text.endswith("\n") else "\n") + block
        whole = whole.lstrip("\n")
        if self.first:
            try:
                tomllib.loads(whole)
            except tomllib.TOMLDecodeError as error:
                raise CommandError(f"{path} does not go with these settings: {error}") from None
        return whole

    def removed(self, path: Path, text: str, values: Mapping[str, Any]) -> tuple[str, list[str]]:
        """Return the file's `text` without the block, and `[]`: no key stays."""
        del path, values
        return _BLOCK.sub("", text), []


_KINDS: Mapping[str, _Json | _Lines] = {
    "JSON": _Json(),
    "TOML": _Lines(" = ", first=True),
    "YAML": _Lines(": ", first=False),
}


def _leaves(
    values: Mapping[str, Any], before: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each value of nested mappings, with its keys: `{"a": {"b": 1}}` -> `("a", "b"), 1`."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*before, key))
        else:
            yield (*before, key), value


def _conflict_message(path: Path, key: str, value: object) -> str:
    return f"expected no {key} in {path}, got {value!r}: take it out first, for nothing is replaced"
