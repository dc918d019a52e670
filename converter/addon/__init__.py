"""The live proxy: the parts that use mitmproxy, and the facts about servers, options, requests."""
