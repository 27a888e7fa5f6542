"""The screen that asks once for a whole round."""
