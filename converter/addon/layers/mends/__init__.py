"""Mends of mitmproxy's faults, a file for each side of the proxy. A file names mitmproxy's version,
the faults, and the condition under which the mend can be deleted.

Two more mends are in `connection`: `_forget_closed` drops the layers of closed server connections,
and `_look_at_openings` reports a connection that the server reset while it was opened.
"""
