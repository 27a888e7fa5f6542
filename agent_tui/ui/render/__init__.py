"""Text to rows of styled runs: safe text, markdown, code, diffs, terminal output."""
