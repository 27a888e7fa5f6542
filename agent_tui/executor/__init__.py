"""Rounds of tool calls: prepare, collect, ask once, run, answer every call."""
