"""Rules, grants and shell analysis: what a call needs and what was already decided."""
