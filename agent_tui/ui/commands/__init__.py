"""Slash commands: what there is and what each does."""
