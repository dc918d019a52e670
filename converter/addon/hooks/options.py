"""Declares the addon's options in mitmproxy, checks their values, and reads them into settings. The
options themselves are rows in `converter/addon/exchange/settings.py`.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

from mitmproxy import ctx, exceptions, flowfilter
from mitmproxy.addonmanager import Loader

from converter.addon.exchange import settings
from converter.addon.exchange.settings import PREFIX
from converter.addon.files import FileError, make_folder
from converter.addon.memory.stores import open_store
from converter.core.wire.printable import one_line

_option_types = {PREFIX + option.name: option.type for option in settings.OPTIONS}
"""Name of an option in mitmproxy, with `think_` -> the type of its value."""
_log = logging.getLogger(__name__)


def declare_options(loader: Loader) -> None:
    """Add the addon's options to mitmproxy, and check their values from the command line and the
    configuration file. For a bad value log one line, which stops mitmproxy. Without this check
    mitmproxy 12.2 would start without the addon, and without a message, if a value's type is wrong.
    """
    for option in settings.OPTIONS:
        choices = option.choices if option.type is str and option.choices else None
        name = PREFIX + option.name
        loader.add_option(name, option.type, option.default, option.help_text, choices)
    for name, value in ctx.options.deferred.items():
        kind = _option_types.get(name.replace("-", "_"))
        if type(value) is int and kind is str:
            # YAML reads the configuration file's `think_ping: 5` as a number, not as a text
            ctx.options.deferred[name] = str(value)
        elif isinstance(value, str) and kind == Sequence[str]:
            # YAML reads the configuration file's `think_tags: auto` as a text, not as a list
            ctx.options.deferred[name] = [value]
    try:
        ctx.options.process_deferred()
    # mitmproxy raises TypeError for a value of a wrong type in the configuration file
    except (exceptions.OptionsError, TypeError) as error:
        _log.error("think: %s", error)
        for name in _undeclared_names():
            del ctx.options.deferred[name]
    try:
        read_settings()
    except ValueError as error:
        # a logged error stops mitmproxy at its start, without the traceback of a failing hook
        _log.error("think: %s", error)
        ctx.options.update(**{PREFIX + option.name: option.default for option in settings.OPTIONS})


def refuse_unknown_options() -> None:
    """Log an error for each `think_` option that does not exist. The logged error stops mitmproxy
    at its start. Without this function, mitmproxy (seen in 12.2) starts and ignores such options.
    """
    for name in _undeclared_names():
        _log.error("think: %s", settings.unknown_option_error(one_line(name)))


def _undeclared_names() -> list[str]:
    """Return the names of the `think_` options that the user has set and no addon has declared,
    such as misspelt ones.
    """
    return [name for name in ctx.options.deferred if settings.is_addon_option(name)]


def recorded_values() -> dict[str, object]:
    """Return the values of the options that recordings store: option's name without `think_` ->
    value as JSON has it, so a list in place of any other sequence.
    """
    values = {name: getattr(ctx.options, PREFIX + name) for name in settings.RECORDED}
    return {
        name: list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
        for name, value in values.items()
    }


def read_settings() -> tuple[settings.Settings, flowfilter.TFilter | None]:
    """Return the settings, and the flow filter of the option `think_flows` (`None`: all flows).
    Make the folder of `think_record`, and check the address of `think_memory`. Raises ValueError
    for the first bad option.
    """
    chosen = settings.read(
        {option.name: getattr(ctx.options, PREFIX + option.name) for option in settings.OPTIONS}
    )
    if chosen.record:
        try:  # made now, so that the error does not come only when a reply is recorded
            make_folder(Path(chosen.record))
        except FileError as error:
            raise ValueError(f"think_record: {error}") from None
    open_store(chosen).close()
    try:
        return chosen, flowfilter.parse(chosen.flows) if chosen.flows.strip() else None
    except ValueError as error:
        raise ValueError(f"think_flows: {error}") from None
