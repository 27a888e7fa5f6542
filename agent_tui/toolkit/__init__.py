"""The public API for tool authors; a tool imports this package and nothing else of ours."""
