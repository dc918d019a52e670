"""The arguments of the recordings' program."""

import pytest

from converter.extras.recordings.commands import BAD_USE, parser


@pytest.mark.parametrize("arguments", [["--dir", "kept", "list"], ["list", "--dir", "kept"]])
def test_the_folder_may_be_named_before_the_command_or_behind_it(arguments: list[str]) -> None:
    assert str(parser().parse_args(arguments).dir) == "kept"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [(["add"], "required: FILE, NAME"), (["serve", "--pace", "slow"], "--pace: 'slow' is no pace")],
)
def test_bad_use_costs_one_line(
    arguments: list[str], fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(arguments)
    assert ended.value.code == BAD_USE
    message = capsys.readouterr().err
    assert fault in message
    assert message.count("\n") == 1
