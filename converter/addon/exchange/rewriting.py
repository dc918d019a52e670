"""Makes the rewriter of a reply (`rewriter_of`), and the settings by which its stages read text
(`reading_of`), from the user's options and the facts about the request.
"""

from converter.addon.exchange.settings import Settings
from converter.core.dialects.dialect import Dialect
from converter.core.dialects.table import COMMON
from converter.core.dialects.wire_form import Form, ReplyContext
from converter.core.reading.reading import Expected, Reading
from converter.core.reply.rewriter import Rewriter
from converter.core.reply.stages import STAGES


def reading_of(settings: Settings, expected: Expected, whole: bool = False) -> Reading:
    """Return the settings by which the stages read a reply's text. `whole` is True if the server
    sends or the client gets the reply as one body, so that the stages may read all of it before
    they emit anything.
    """
    return Reading(
        settings.tags,
        settings.attributes,
        settings.markers,
        settings.start,
        whole,
        expected,
        settings.blanks == "trim",
        settings.values == "schema",
    )


def rewriter_of(
    settings: Settings,
    client_dialect: Dialect,
    server_form: Form,
    client_form: Form | None = None,
    *,
    server: Dialect = COMMON,
    context: ReplyContext | None = None,
    expected: Expected | None = None,
) -> Rewriter:
    """Return the rewriter of a reply by the user's options (`settings`). `context`: the facts of
    the request and the options that the encoder needs; `None`: there is no request, and the encoder
    gets the options alone. The other arguments are those of `Rewriter`.
    """
    by_options = ReplyContext(
        fields=settings.fields, signature=settings.signature, map=settings.map
    )
    reading, context = reading_of(settings, expected or Expected()), context or by_options
    through = server, client_dialect, server_form, client_form
    return Rewriter(STAGES, reading, *through, context=context, fast=settings.fast)
