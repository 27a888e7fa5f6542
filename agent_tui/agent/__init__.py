"""The loop: prompt, model, round, until the model is done."""
