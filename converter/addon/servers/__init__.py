"""Tables and rules about model servers and their models: request fields, chat templates, probes,
lessons, where a reply begins, and what is sent again after a refusal.
"""
