"""Hooks: what a person's own commands and extensions say about the events of a session."""
