"""Mends of mitmproxy's faults: a file for each side of the proxy, with the version, the fault, and
the condition under which the mend can go.

Two more mends stand in `connection`: the server's closed connections are forgotten, and a
connection that was reset as it opened is reported as failed.
"""
