"""Each client's answer for a server's error."""

from collections.abc import Callable

import pytest

from converter.extras.recordings.recording import Recording
from laws.laws_of_errors import error_4, error_7, error_8
from tests.support.recordings_of import recording
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

ERRORS = ROWS["errors"]


LAWS = [error_4, pytest.param(error_7, marks=pytest.mark.slow), error_8]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", ERRORS)
def test_an_error_of_a_server_breaks_no_law(
    name: str, law: Callable[[Recording, int], None]
) -> None:
    status, body = ERRORS[name]
    law(recording(body, "application/json", status=status), 4)
