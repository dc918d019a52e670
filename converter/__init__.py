"""A model's thinking, however it is marked, moved to where the client looks for it.

Bytes of a server's reply go in, bytes for the client come out (`rewriter.Rewriter`), as they
arrive, streamed and whole by the same machines. Nothing that a server sends is lost.

The nouns: a *chunk* is bytes as they arrived; a *frame* one unit of a stream; an *event* what a
frame says, in no dialect; a *dialect* a wire format, whose *decoder* turns frames into events and
whose *encoder* turns events into frames; a *stage* stands between the two. All machines have `feed`
and `close`. Text that a machine cannot place yet is *held*; `close` gives it out, and
`abort(reason)` says why the reply is not whole. *Thinking* is the model's; "reasoning" only names
wire fields.

The rooms, bottom up; a room imports from below its own floor only (`tests/test_shape.py`):

    events, conversation, endpoints, initial_state, limits, memory   values
    wire                      frames and JSON
    parsing, observe          text to thinking and text; what is told beside a reply
    servers, stages           what is known of a server; text to events, a chain for each choice
    dialects                  a folder for each wire format, and their table
    option_readers, settings  a row for each option
    pipeline, fast_path, reply_end, reply_notes
                              frames, decoder and stages, joined; notes on a reply
    rewriter                  the pipeline and an encoder
    exchange, read_request, awaited_reply
                              one request and its reply, step by step
    transcript                requests and replies as people read them
    recordings                kept exchanges, which are tests
    laws                      the judges; nothing at run time imports them
    shell                     all that meets mitmproxy live

Only `shell` and `think_addon.py` know a running proxy. `docs/architecture.md` has the rules of
order, and the steps to add to each room.
"""

import sys

if sys.version_info < (3, 12):  # noqa: UP036  # said before a file that an older one cannot read
    raise ImportError(f"think-addon needs Python 3.12 or newer, this is {sys.version.split()[0]}")
