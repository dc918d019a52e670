"""Measure the proxy against a bare mitmproxy: `make bench`, or `python -m tools.bench`.

The server (`server.py`) and the client (`client.py`) are processes of their own. They move bytes
that were prepared before the run, so that they cost little beside a proxy. Every proxy is pinned to
one core, server and client to another. Each row is measured next to the bare proxy, repetition
after repetition, in alternating order; each ratio is of two neighbouring measurements. The
processor time is the kernel's count for the proxy's processes. Every reply is checked word by word
after the clock has stopped.

    replies.py     the server's replies, and the content that a client must read
    reading.py     replies, read as a client would
    contenders.py  rows: what stands between client and server
    loads.py       rows: how much is asked at a time, and what is measured
    proxies.py     the processes of these rows
    processes.py   start, pin, count
    report.py      ratios, the table, the JSON file
    peers.py       other people's proxies, when asked for
    profile.py     where the time goes, by py-spy
    gaps.py        pauses of a stream beside others: `python -m tools.bench.gaps`
    gap_cases.py   the exchanges of the others
    gap_server.py  the process of the other client and server
    growth.py      the cost of a unit in replies of 4N units against N, without any proxy
"""
