"""Mends of mitmproxy's faults: a file for each side of the proxy, with the version, what is wrong,
and when the mend can go.

Two more stand where they are needed, in `connection`: the server's connections that are over are
forgotten, and a connection that was reset as it opened is a failed one.
"""
