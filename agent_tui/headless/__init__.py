"""Runs without a screen: print mode and its event stream."""
