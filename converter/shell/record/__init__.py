"""Recordings made while mitmproxy runs, in a process of their own where they are long."""
