"""Our own layers in mitmproxy: proper ends, pings, errors in the client's dialect, and speed.

mitmproxy calls a stream function once for each HTTP chunk, and only when a chunk comes. It sends
each result by itself, calls nothing when the server dies, and then closes the client's connection.
So the `next_layer` hook puts subclasses of mitmproxy's HTTP layers in place, for the connections of
this proxy alone; the protocol stays mitmproxy's. Two other ways were tried: a relay of our own on
loopback costs a second connection and 21 microseconds a token, and functions replaced inside
mitmproxy's modules change traffic that is not ours.

The plan. A reply's bytes take one of two lanes:

    server's socket                                                             client's socket
      |                                                                                       ^
      |   layers  StreamReader > task > ReplyLayer > ServerConnection > StreamLayer > client  |
      +---------------------------------------------------------------------------------------+
      |   splice  Splice > Carrier                                                            |

- Every stream begins in the lane of the layers (`connection`, `promises`): its head is read there,
  the hooks are called, and the first bytes of the body go that way.
- `StreamLayer.start_response_stream` moves it by `splice()`, the switch, when its head is out.
  Only plain HTTP/1 on both sides can move; TLS and tunnels stay in the layers.
- `Splice.data_received` gives a single read back to the layers when there is anything to wait for,
  and `Splice._end` gives back the stream with its end. The layers handle faults as well.
- One `WholeReads` (`whole_reads`) reads the body for both lanes out of one buffer, so that a stream
  can change at any read. In both lanes one read is one call of the stream function and one write.
- What an event sends to one connection goes in one write (`connection.in_one_write`).

The stream function itself, a `Tap`, is called at once, or beside mitmproxy's loop when its
`is_long` is True; such a call is always made in the layers. `stream_turns` makes these calls, lets
other streams go on after a long read, and has a server wait with its reply. `hook_table` has the
addons of each hook. `guard` names all members that each part uses, and the loss without them.
`mends` are of mitmproxy's faults. `own_layers` is the addon that puts all in place.

Processor time for each chunk of 250 bytes, against bare mitmdump with an identity function, in
microseconds (mitmproxy 12.2.3, CPython 3.13, medians of 3 and 5 interleaved repetitions):

    one stream as fast as it goes     23.4 -> 3.4, 40,600 -> 274,000 chunks a second
    32 streams as fast as they go     24.5 -> 3.3
    32 streams of 50 tokens a second  88.3 -> 69.4
"""
