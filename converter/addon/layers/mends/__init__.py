"""Corrections of mitmproxy's faults, now in one file, `http1_server`, for the server's side. It
names mitmproxy's version, the faults, and when the corrections can be deleted.

Other corrections are methods of our layers. In `connection`, `_drop_closed_layers` drops the layers
of closed server connections, `_check_openings` reports a connection that the server reset while it
was being opened, and `register_connection` clears the error of a failed opening. In `promises`,
`start_request_stream` holds a request that another addon has answered.
"""
