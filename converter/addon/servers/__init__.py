"""Tables and rules about model servers and their models: request fields, chat templates, names of
models, texts added to prompts, probes, lessons, where a reply begins, and what is sent again after
a refusal. Nothing here sends a request: `addon/probes/` sends the probes, `addon/hooks/` has the
requests of clients sent.
"""
