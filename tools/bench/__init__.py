"""The benches: `make bench` measures the addon against a bare mitmdump, and starts most others.

The *bare* mitmdump has only the addon `identity.py`, which streams each response unchanged. The
server (`server.py`) and the client (`client.py`) are processes of their own. They move bytes that
were prepared before the run, so that they cost little beside a proxy. Every proxy is pinned to one
core, server and client to another.

A *contender* is a proxy with its options, and a client's dialect; a *load* is a number of requests
of one kind. Each contender is measured under each load directly before or after the bare mitmdump,
several times, in alternating order. A ratio divides the contender's value by that of the bare
mitmdump beside it. The processor time is the kernel's count for the proxy's processes. Every reply
is checked word by word after the clock has stopped.

The files of this benchmark:

    replies.py     the server's replies, and the content that a client must read in them
    reading.py     reads that content from the bytes that a client received
    contenders.py  the contenders, a row each
    loads.py       the loads, a row each, and the figures that are measured under each
    proxies.py     starts the contenders' proxies
    processes.py   starts a process, pins it to a core, reads its processor time and memory
    report.py      ratios, the table, the JSON file
    peers.py       proxies of other projects, with `--peers`

Other benches, which print tables of their own:

    profile.py     in which functions the addon's time is spent, by py-spy
    gaps.py        pauses of a stream while another client has a huge exchange
    gap_cases.py   the exchanges of that other client, a row each
    gap_server.py  the process of that other client and its server
    growth.py      whether the cost of a character or frame grows with a reply's length; no proxy
    lengths.py     whether the cost of hostile input grows faster than its length; no proxy
    earlier.py     the cost of looking for earlier thoughts that are not stored
    memory.py      the cost of storing replies in each store of the addon's memory
    spread.py      conversations spread over two machines that share one memory
    turns.py       the cost of an agent's turn, and of small replies
    agents.py      the requests of such an agent
    agents_soak.py sixteen agents for some minutes, and a stream beside them
"""
