"""The conversation as one scrolling widget."""
