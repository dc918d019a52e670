"""The record of a dialect."""

from converter.dialects.dialect import Form
from converter.dialects.table import DIALECTS


def test_every_dialect_writes_every_form() -> None:
    assert all(set(dialect.wire.encoders) == set(Form) for dialect in DIALECTS)


def test_a_dialect_is_shown_by_its_name() -> None:
    assert [repr(dialect) for dialect in DIALECTS] == [dialect.name for dialect in DIALECTS]
