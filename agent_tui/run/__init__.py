"""One run: what was asked for becomes settings, tools, a policy, a model and an open session."""
