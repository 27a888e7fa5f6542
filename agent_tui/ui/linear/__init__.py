"""The program as plain lines: for screen readers, and for terminals without a full screen."""
