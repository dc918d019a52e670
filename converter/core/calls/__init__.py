"""Tool calls: the assembler joins their pieces, checks them, and lets no client run a call that is
not whole.

```
server's frames -> decoder ---- pieces --+
                                         +-> Assembler -> checked pieces -> encoder -> client
text of a reply -> reading/tool_calls ---+
```

- A decoder emits pieces of calls (`ToolCall`) as they were sent: index, id, name, text of the
  arguments. `converter.core.model.events` has the meaning of their flags.
- The assembler (`assembler`) finds the call of each piece by the offered tools' names, by ids and
  by indexes (`open_calls`, `names`). It makes each id unique (`ids`), checks the arguments
  (`arguments`, with `converter.core.wire.partial_json`), and, if `Offer.converts_values`, gives
  values the types of the tool's schema (`typed_values`, `schema_values`).
- The assembler emits pieces too. The first piece of a call has its number, id and name; later
  pieces have arguments, and the id if the server repeats it; the last one has `ends`. If a call is
  not whole because a limit, a filter or a stop string cut the reply, the call gets no `ends`, and
  the finish reason (such as `length`) keeps clients from running it. If it is not whole for another
  reason, the reply ends with a failure.
- A piece that needs no change is emitted as it came, so that the server's own bytes are sent. Text
  is held while later text may change it: among others, a name that further pieces may turn into
  another offered name; and the arguments `{}` of a tool with parameters, because the real object
  may follow. And a call is held until the call before it is whole.
- Behind the assembler `forbidden` turns calls into text if the client forbids calls.
- An encoder writes the events. It joins, names and numbers nothing.
"""
