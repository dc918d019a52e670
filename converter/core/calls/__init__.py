"""Tool calls: one assembler decides the borders, name, id, number and arguments of each call, and
whether it is whole.

```
server's frames -> decoder ---- pieces --+
                                         +-> Assembler -> calls, whole or none -> encoder -> client
text of a reply -> reading/tool_calls ---+
```

For the assembler `typed_values` gives values the types of the tool's schema (`schema_values`).
Behind the assembler, where the client wants no calls, `forbidden` makes them text.

- A decoder hands on pieces (`ToolCall`) as they were sent: index, id, name, text of the arguments.
  `NO_INDEX` says that the server tells no index, `ends` that nothing more comes of the call,
  `misshapen` that the piece is not as its dialect has it, so that it must be written anew,
  `free_text` that the arguments are a text and no JSON (`free_text`).
- The assembler (`assembler`) finds the call of each piece (`open_calls`), by the offered tools'
  names (`names`), ids and indexes; makes its id unlike any other (`ids`); judges its
  arguments (`arguments`, over `converter.core.wire.partial_json`). The first event of a call has
  its number, id and name; later ones have arguments alone; the last one `ends` it. A call that is
  not whole ends the reply in a failure, or stays open under a finish on which no client runs it.
- A piece that needs no change comes out as the event that came in, so that the server's bytes go
  on. A name that may still become another offered one waits, and so does an empty object of a tool
  that has parameters. A call waits until the call before it is whole. Nothing else waits.
- An encoder writes the events. It joins, names and numbers nothing.
"""
