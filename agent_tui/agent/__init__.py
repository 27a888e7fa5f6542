"""The loop: a prompt goes in, a model reasons and calls tools, a finished turn comes out."""
