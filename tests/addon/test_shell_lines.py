"""Words of others in lines for a shell."""

import subprocess

import pytest

from converter.addon import shell_lines

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("text", ["plain", "two words", "it's", "$(touch ran)", "`ran`", "a;b", ""])
def test_a_shell_reads_a_word_as_it_was(text: str) -> None:
    line = shell_lines.command(
        ["sh", "-c", 'printf "%s %s" "$NAME" "$1"', "sh", text], {"NAME": text}
    )
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == f"{text} {text}"


@pytest.mark.parametrize(
    "character", ["\n", "\r", "\t", "\0", "\x1b", "\x7f", "\x85", "\u2028", "\u202e"]
)
def test_no_line_has_a_character_that_acts(character: str) -> None:
    with pytest.raises(shell_lines.UnprintableError, match="can be printed"):
        shell_lines.quoted(f"a{character}b")
    with pytest.raises(shell_lines.UnprintableError, match="can be printed"):
        shell_lines.command(["program"], {"NAME": character})
