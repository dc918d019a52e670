"""The laws that recorded replies must pass, the readers that check them (two oracles, plain and
strict readers, the official SDKs), and a plugin for pytest.
"""
