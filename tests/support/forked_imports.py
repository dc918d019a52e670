"""The imports of the process whose copies run mitmproxy (`tests.support.forked`)."""

import gc
import threading

import mitmproxy.tools.dump
import mitmproxy.tools.main
import mitmproxy.tools.web.master  # noqa: F401

import think_addon  # noqa: F401

assert threading.active_count() == 1, threading.enumerate()  # a copy has the first thread alone
gc.freeze()
