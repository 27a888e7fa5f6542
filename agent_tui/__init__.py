"""A full-screen terminal coding agent."""

__version__ = "0.1.0.dev0"
