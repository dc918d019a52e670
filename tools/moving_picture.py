"""Make the animated picture of the README: `python -m tools.moving_picture [--into
docs/think.webp]`.

A client sends a question, a model thinks and answers, and the page at /think shows both, in ten
seconds. A scripted server writes the reply, so that it comes as slowly as a person reads.
"""

import argparse
import json
import struct
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from tests.support.by_path_server import CHAT, ByPathServer, Says, Step, owned_by
from tests.support.clients import Client
from tests.support.frames import END, ROLE, text
from tests.support.harness import TESTS
from tests.support.mitmweb import Mitmweb
from tests.support.think_page import REPLY, ThinkPage

SIZE = (960, 600)
"""Width and height of the picture, in pixels."""
QUALITY = 50
"""The quality of each still picture as WebP, of 100."""
EMPTY_MILLISECONDS, STEP_MILLISECONDS, END_MILLISECONDS = 1200, 260, 2600
"""How long the picture shows the empty page, each step of the reply, and the whole reply."""
TOKENS_AT_ONCE = 3
"""How many words each still picture adds to the reply; a word stands for a model's token."""
QUESTION = "I have 12 boxes with 7 pens each. I give 10 pens away. How many are left?"
"""The user's text."""
THOUGHT = (
    "The boxes hold 12 times 7 pens. 10 times 7 is 70 and 2 times 7 is 14, so that makes 84. "
    "Then 10 pens are given away: 84 minus 10 is 74. Let me check: 74 plus 10 is 84, which is 12 "
    "times 7. Yes."
)
"""The model's thought."""
ANSWER = "You have **74 pens** left: 12 × 7 = 84, and 84 − 10 = 74."
"""The model's answer, in Markdown."""

type ShownPicture = tuple[int, bytes]
"""The milliseconds for which a still picture is shown, and the picture as WebP."""


def animate(frames: Iterable[ShownPicture], size: tuple[int, int]) -> bytes:
    """Return still pictures as one animated WebP, which repeats without end.

    Neighbours that are equal become one picture, which is shown as long as both. `size`: width and
    height in pixels.
    """
    width, height = (struct.pack("<I", side - 1)[:3] for side in size)
    head = _chunk(b"VP8X", bytes([2, 0, 0, 0]) + width + height) + _chunk(b"ANIM", bytes(6))
    body = b""
    for picture, alike in groupby(frames, key=lambda frame: frame[1]):
        milliseconds = struct.pack("<I", sum(each[0] for each in alike))[:3]
        body += _chunk(
            b"ANMF", bytes(6) + width + height + milliseconds + b"\2" + _pixel_chunk(picture)
        )
    return _chunk(b"RIFF", b"WEBP" + head + body)


def _chunk(name: bytes, content: bytes) -> bytes:
    """Return a chunk of a RIFF file (the format of WebP): name, length, content, and padding."""
    return name + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)


def _pixel_chunk(picture: bytes) -> bytes:
    """Return the RIFF chunk with the pixels of a WebP file (`VP8 ` or `VP8L`).

    Raises ValueError if the file has no such chunk.
    """
    at = 12
    while at < len(picture):
        length = struct.unpack_from("<I", picture, at + 4)[0]
        if picture[at : at + 4] in (b"VP8 ", b"VP8L"):
            return _chunk(picture[at : at + 4], picture[at + 8 : at + 8 + length])
        at += 8 + length + length % 2
    raise ValueError("expected a WebP file with one picture")


def _split_into_steps(text: str) -> Iterator[str]:
    """Yield the text in pieces of `TOKENS_AT_ONCE` words."""
    pieces = text.split(" ")
    for at in range(0, len(pieces), TOKENS_AT_ONCE):
        yield " " * (at > 0) + " ".join(pieces[at : at + TOKENS_AT_ONCE])


def pictures_of_steps(
    page: ThinkPage, web: Mitmweb, server: ByPathServer
) -> Iterator[ShownPicture]:
    """Send a question; yield pictures of the page: before it, after it, with each further piece of
    the reply, and when the reply has ended.
    """
    thoughts, answers = list(_split_into_steps(THOUGHT)), list(_split_into_steps(ANSWER))
    pieces = ["<think>" + thoughts[0], *thoughts[1:], "</think>\n\n" + answers[0], *answers[1:]]
    goes = [threading.Event() for _ in pieces]
    steps: list[Step] = [ROLE]
    for event, piece in zip(goes, pieces, strict=True):
        steps += [event, *text(piece)]
    server.rows[CHAT] = Says(steps=[*steps, *END])
    page.show(web, 0)
    page.until_shown("Clients connect to", "#first")
    yield EMPTY_MILLISECONDS, page.webp(QUALITY)
    body = {"model": "small", "stream": True, "messages": [{"role": "user", "content": QUESTION}]}
    with Client(web.port) as client:
        client.begin(CHAT, json.dumps(body).encode(), {"user-agent": "OpenAI/Python 3.57.0"})
        page.until_shown(QUESTION)
        yield 3 * STEP_MILLISECONDS, page.webp(QUALITY)
        for event, piece in zip(goes, [*thoughts, *answers], strict=True):
            event.set()
            last = piece.replace("**", "").split()[-1]
            page.until_shown(last, REPLY)
            yield STEP_MILLISECONDS, page.webp(QUALITY)
        client.answer()
    page.until(lambda: "done" in page.rows()[0], "the end")
    yield END_MILLISECONDS, page.webp(QUALITY)


def make(into: Path) -> None:
    """Write the animated picture to the file `into`."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ByPathServer(owned_by("llamacpp")) as server,
        Mitmweb(server.address, Path(folder)) as web,
        ThinkPage() as page,
    ):
        page.resize(*SIZE)
        into.write_bytes(animate(pictures_of_steps(page, web, server), SIZE))
        page.leave()


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the moving picture to the file that `--into` names, by default `docs/think.webp`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--into", type=Path, default=TESTS.parent / "docs" / "think.webp")
    make(parser.parse_args(arguments).into)


if __name__ == "__main__":
    main()
