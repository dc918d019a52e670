"""Our own layers in mitmproxy's proxy core. They give streams proper ends, pings and errors in the
client's dialect, and take less time than mitmproxy's.

mitmproxy calls a stream function once for each HTTP chunk, and only when a chunk comes. It sends
each result in a write of its own. If the server dies, mitmproxy closes the client's connection
without calling the function. So the `next_layer` hook replaces mitmproxy's HTTP layers by
subclasses, only for the connections of this proxy; the subclasses call mitmproxy's code for the
protocol. Two other designs were tried: a relay of our own on loopback costs a second connection and
21 microseconds a token, and functions replaced inside mitmproxy's modules change traffic that the
addon must leave alone.

A reply's bytes take one of two lanes:

    server's socket                                                             client's socket
      |                                                                                       ^
      |   layers  StreamReader > task > ReplyLayer > ServerConnection > StreamLayer > client  |
      +---------------------------------------------------------------------------------------+
      |   splice  Splice > Carrier                                                            |

- Every stream begins in the lane of the layers (`connection`, `promises`): they read its head, call
  the hooks, and send the first bytes of its body.
- When the head is sent, `StreamLayer.start_response_stream` calls `move_to_splice`, which moves the
  stream to the other lane. Only a stream of plain HTTP/1 on both sides moves; TLS and tunnels stay.
- `Splice.data_received` gives a single read to the layers if the read has to wait, and
  `Splice._restore_protocol` gives the end of the stream to them. The layers also handle faults.
- One `WholeReads` (`whole_reads`) reads the body for both lanes from one buffer, so that a stream
  can change lanes at any read. In both lanes a read is one call of the stream function and one
  write.
- All data that one event sends to a connection goes out in one write (`connection.join_writes`).

The stream function, a `Tap`, is called on mitmproxy's loop, or in a thread if its `is_long` is
True; such a call is always made in the layers. `stream_turns` makes these calls, lets other streams
go on after a long read, and stops reading a server while its reply waits. `hook_table` caches the
addons of each hook. `guard` lists the members of mitmproxy's that each part uses, and what is lost
if a version of mitmproxy lacks them. `mends` corrects faults of mitmproxy. `own_layers` installs
the layers.

Processor time for each chunk of 250 bytes, against bare mitmdump with an identity function, in
microseconds (mitmproxy 12.2.3, CPython 3.13, medians of 3 and 5 interleaved repetitions):

    one stream, not paced             23.4 -> 3.4, 40,600 -> 274,000 chunks a second
    32 streams, not paced             24.5 -> 3.3
    32 streams of 50 tokens a second  88.3 -> 69.4
"""
