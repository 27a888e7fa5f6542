"""Runs many tasks, each in a git worktree of its own, here or on a cluster."""
