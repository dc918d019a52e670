"""The laws (checks that each recorded reply must pass), the readers that they compare (two oracles,
plain and strict readers, the official SDKs), and a plugin for pytest.
"""
