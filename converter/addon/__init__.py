"""The live proxy: what meets mitmproxy, knows servers, options and requests."""
