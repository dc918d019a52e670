"""A model's thinking, however it is marked, moved to where the client looks for it.

Bytes of a server's reply go in, bytes for the client come out (`rewriter.Rewriter`), as they
arrive. Nothing here keeps a clock or knows a proxy, and nothing but `network` does I/O.

The nouns: a *chunk* is bytes as they arrived; a *frame* one unit of a stream; an *event* what a
frame says, in no dialect; a
*dialect* a wire format; a *Decoder* turns frames into events and an *Encoder* events into frames.
All machines have `feed` and `close`; text that a machine cannot place yet is *held*, and `close`
gives it out. *Thinking* is the model's; "reasoning" only names wire fields.
"""
