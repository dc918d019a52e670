"""`think-addon claude --save`: write settings into the client's own file, so that the client works
on the local model without the launcher. `--unsave` removes them again; `clients.py` has the
settings.

`--save` replaces no setting of the user's own: if one is in the way, it stops. A JSON file gets
entries, of which `--unsave` removes those that still have the written value. A TOML or YAML file
gets a block between two comments, which `--unsave` removes. The written values are kept in
`saved.json` in the folder of the addon's state.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from converter.addon.files import FileError, write_whole
from converter.addon.memory.sqlite_store import default_path
from converter.extras.command.addresses import CommandError
from converter.extras.command.clients import CLIENTS, ClientFacts, SavedSettings

_BEGIN, _END = (
    "# think-addon: begin, taken out by `think-addon {name} --unsave`",
    "# think-addon: end",
)
_BLOCK = re.compile(r"(?m)^# think-addon: begin\b.*\n(?:.*\n)*?# think-addon: end\n")
"""Matches the block that `--save` has written to a TOML or YAML file, with its two comments."""


def save(name: str, facts: ClientFacts) -> str:
    """Write the settings of the client `name`, for the proxy and model in `facts`, into the
    client's file; return lines for the user. Settings that an earlier call wrote are removed first.
    Raises CommandError, and changes nothing of the user's own, if the user has set one of the keys:
    in JSON to another value, in TOML or YAML to any value.
    """
    saved = _settings_of(name)
    if name in _stored():
        unsave(name)
    path, values = saved.file_path(), saved.values_for(facts)
    before = _read_text(path)
    if saved.format == "JSON":
        entries = _parsed_json(path, before)
        _add(path, entries, values)
        text = _json_text(entries)
    else:
        text = _with_block(name, path, before or "", values, is_toml=saved.format == "TOML")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())
    except (OSError, FileError) as error:
        raise CommandError(f"{path} cannot be written: {error}") from None
    _store({**_stored(), name: {"file": str(path), "values": values, "is_new": before is None}})
    return (
        f"{path} points {name} at {facts.proxy_url}, model {facts.model}.\n"
        f"The proxy must run whenever {name} does. Take it back: think-addon {name} --unsave"
    )


def unsave(name: str) -> str:
    """Remove the settings that `save` has written for the client `name`; return lines for the
    user. Entries of a JSON file that somebody has changed since then stay. A file that `save` has
    created is deleted if nothing else is in it. Raises CommandError if nothing was saved.
    """
    saved, record = _settings_of(name), _stored()
    entry = record.pop(name, None)
    if entry is None:
        raise CommandError(f"nothing was saved for {name}")
    path, changed = Path(entry["file"]), list[str]()
    text = _read_text(path) or ""
    if saved.format == "JSON":
        entries = _parsed_json(path, text)
        changed = _remove(entries, entry["values"])
        text = _json_text(entries)
    else:
        text = _BLOCK.sub("", text)
    if entry["is_new"] and text.strip() in ("", "{}"):
        with suppress(FileNotFoundError):
            path.unlink()
    else:
        write_whole(path, text.encode())
    _store(record)
    kept = f"; these have other values by now, and stay: {', '.join(changed)}" if changed else ""
    return f"{path}: the settings of think-addon were taken out{kept}"


def _settings_of(name: str) -> SavedSettings:
    """Return the settings of the client `name`. Raises CommandError if it has no file for them."""
    if saved := CLIENTS[name].settings:
        return saved
    able = ", ".join(each for each, client in CLIENTS.items() if client.settings)
    raise CommandError(f"expected a client with a file of settings ({able}), got {name}")


def _read_text(path: Path) -> str | None:
    """Return a file's text, None if the file is missing. Raises CommandError if reading fails."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from None


def _record_path() -> Path:
    """Return the path of `saved.json`."""
    return default_path().with_name("saved.json")


def _stored() -> dict[str, Any]:
    """Return the content of `saved.json`: client -> its `file`, the written `values`, and `is_new`
    (True if the file did not exist before).
    """
    record: dict[str, Any] = json.loads(_read_text(_record_path()) or "{}")
    return record


def _store(record: Mapping[str, object]) -> None:
    """Replace the content of `saved.json`; create its folder if it is missing."""
    _record_path().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(_record_path(), json.dumps(record, indent=2).encode())


def _parsed_json(path: Path, text: str | None) -> dict[str, Any]:
    """Return the entries of a JSON file with this text, `{}` for None or an empty text. Raises
    CommandError, with the name of the file `path`, if the text is no JSON object.
    """
    try:
        entries = json.loads(text or "{}")
    except ValueError:
        entries = None
    if not isinstance(entries, dict):
        raise CommandError(f"expected an object of JSON in {path}, got something else")
    return entries


def _json_text(entries: Mapping[str, Any]) -> str:
    """Return the text of a JSON file with these entries."""
    return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"


def _add(path: Path, entries: dict[str, Any], values: Mapping[str, Any], outer: str = "") -> None:
    """Add the settings `values` to the `entries` of a JSON object. Raises CommandError, with the
    name of the file `path`, if an entry has the key of a setting and another value.

    `outer`: the keys of the objects around this one, each with a dot: `env.`. The error writes them
    before the key.
    """
    for key, value in values.items():
        inner = isinstance(value, Mapping)
        present = entries.setdefault(key, {} if inner else value)
        if inner and isinstance(present, dict):
            _add(path, present, value, f"{outer}{key}.")
        elif present != value:
            raise CommandError(_conflict_message(path, outer + key, present))


def _remove(entries: dict[str, Any], values: Mapping[str, Any], outer: str = "") -> list[str]:
    """Remove the settings `values`, and each object that becomes empty, from the `entries` of a
    JSON object. Keep settings that have another value by now, and return their keys.

    `outer`: the keys of the objects around this one, each with a dot: `env.`. The returned keys
    begin with them.
    """
    changed = list[str]()
    for key, value in values.items():
        present = entries.get(key)
        if isinstance(value, Mapping) and isinstance(present, dict):
            changed += _remove(present, value, f"{outer}{key}.")
            if not present:
                del entries[key]
        elif present == value:
            entries.pop(key, None)
        elif key in entries:
            changed.append(outer + key)
    return changed


def _with_block(
    name: str, path: Path, text: str, values: Mapping[str, Any], *, is_toml: bool
) -> str:
    """Return the `text` of a TOML or YAML file with an added block of settings, the `values`.
    Raises CommandError if the file already sets one of the keys, or would be no valid TOML. `name`:
    the client's name, for the comments around the block.

    The block ends a YAML file. It begins a TOML file, where a line after a table's header would
    belong to that table.
    """
    equals = " = " if is_toml else ": "
    for key in values:
        written = rf"(?m)^[\"']?{re.escape(key)}[\"']?[ \t]*{equals.strip()}[ \t]*(.*)$"
        if match := re.search(written, text):
            raise CommandError(_conflict_message(path, key, match[1]))
    rows = [f"{key}{equals}{json.dumps(value)}" for key, value in values.items()]
    block = "\n".join([_BEGIN.format(name=name), *rows, _END]) + "\n"
    if not is_toml:
        return (text + ("" if text.endswith("\n") else "\n") + block).lstrip("\n")
    whole = block + text
    try:
        tomllib.loads(whole)
    except tomllib.TOMLDecodeError as error:
        raise CommandError(f"{path} does not go with these settings: {error}") from None
    return whole


def _conflict_message(path: Path, key: str, value: object) -> str:
    """Return the error for a setting `key` that the user's file has with another `value`."""
    return f"expected no {key} in {path}, got {value!r}: take it out first, for nothing is replaced"
