"""Vim keys for the prompt: motions, text objects, operators."""
