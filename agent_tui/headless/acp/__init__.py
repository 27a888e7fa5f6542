"""Speaks the Agent Client Protocol: an editor drives the agent over standard input and output."""
