"""Words of a model that mean no good to who reads them in a browser or a terminal."""

from tests.support.rows import rows_of

ROWS = rows_of(__file__)

MARKUP = ROWS["markup"]
LINKS = ROWS["links"]
ACTING = "\x1b[2J\x07\x00\x08 \u202egnp.exe\u202c \u2066x\u2069 \u200f \ufeff \u2028 \x9b31m"
SHOWN = "␛[2J␇␀␈ \\u202egnp.exe\\u202c \\u2066x\\u2069 \\u200f \\ufeff \\u2028 \\x9b31m"
"""The same as both pages and transcripts spell it out."""
