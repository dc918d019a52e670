"""Corrections of mitmproxy's faults, a file for each side of the proxy. A file names mitmproxy's
version, the faults, and the condition under which the correction can be deleted.

Two more corrections are in `connection`: `_drop_closed_layers` drops the layers of closed server
connections, and `_check_openings` reports a connection that the server reset while it was being
opened.
"""
