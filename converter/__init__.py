"""A model's thinking, however it is marked, moved to where the client looks for it.

Bytes of a server's reply go in, bytes for the client come out (`reply.rewriter.Rewriter`), as they
arrive, streamed and whole by the same machines. Nothing that a server sends is lost.

The nouns: a *chunk* is bytes as they arrived; a *frame* one unit of a stream; an *event* what a
frame says, in no dialect; a *dialect* a wire format, whose *decoder* turns frames into events and
whose *encoder* turns events into frames; a *stage* stands between the two. All machines have `feed`
and `close`. Text that a machine cannot place yet is *held*; `close` gives it out, and
`abort(reason)` says why the reply is not whole. *Thinking* is the model's; "reasoning" only names
wire fields.

Three floors; a room imports from below its own only (`tests/test_shape.py`):

    core      bytes in, bytes out
      model       values of no dialect; what is kept by id
      wire        frames and JSON
      calls       tool calls: name, id and arguments
      reading     text to thinking, text and tool calls
      dialects    a folder for each wire format, and their table
      reply       frames to events to bytes; a reply's end
    addon     the live proxy
      servers     what is known of a server
      exchange    a request, step by step; a row for each option
      hooks, layers, probes, memory, keep, transcript, redact
    extras    packages that watch, show, keep or start

Only `addon`, `extras` and `think_addon.py` know a running proxy. `docs/architecture.md` has the
rules of order, and the steps to add to each room.
"""

import sys

__version__ = "0.1.0"
"""The version of the addon. The package, `--version` and a release's tag take it from here."""

if sys.version_info < (3, 12):  # noqa: UP036  # before an import that an older Python cannot read
    raise ImportError(f"think-addon needs Python 3.12 or newer, this is {sys.version.split()[0]}")
