"""The arguments of the recordings' program."""

import pytest

from converter.extras.recordings.commands import BAD_USE, parser


@pytest.mark.parametrize("arguments", [["--dir", "kept", "list"], ["list", "--dir", "kept"]])
def test_the_folder_may_be_named_before_the_command_or_behind_it(arguments: list[str]) -> None:
    assert str(parser().parse_args(arguments).dir) == "kept"


def test_bad_use_costs_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(["add"])
    assert ended.value.code == BAD_USE
    assert capsys.readouterr().err.count("\n") == 1
