"""Says what a shell command would do, without running it."""
