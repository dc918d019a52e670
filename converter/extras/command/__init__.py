"""The command `think-addon`: start the proxy, start a client or save its settings, examine a
server. `think-addon record` is in `converter.extras.recordings`.
"""
