from collections.abc import Mapping

import pytest

from converter.core.dialects.table import DIALECTS, Dialect
from converter.core.dialects.wire_form import Form, ReplyContext
from converter.core.model.events import Text
from converter.core.wire import json_text
from converter.core.wire.sse import Frame


@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
def test_a_dialect_is_all_that_a_reply_needs_of_it(dialect: Dialect) -> None:
    assert dialect.reply
    error = json_text.read(dialect.error("gone", "api_error", 502))
    assert isinstance(error, Mapping)
    assert "gone" in str(error)


@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
@pytest.mark.parametrize("form", Form)
def test_a_decoder_reads_what_an_encoder_writes(dialect: Dialect, form: Form) -> None:
    whole = form is Form.WHOLE
    encoder, decoder = dialect.wire.encoder(ReplyContext(), whole), dialect.wire.decoder({})
    written = b"".join([*encoder.feed([Text("words")]), *encoder.close()])
    cutter = dialect.wire.framing.cutter()
    frames = [Frame(written, written)] if whole else [*cutter.feed(written), *cutter.close()]
    events = [event for frame in frames for event in decoder.feed(frame)]
    assert "words" in [event.text for event in events if isinstance(event, Text)]
