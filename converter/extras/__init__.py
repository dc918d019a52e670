"""Packages that may be deleted: each watches, shows, keeps or starts, and nothing imports it."""
