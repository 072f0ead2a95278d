"""Inference: text to text with a trained model, one output line per input line. Imports nothing, for fast help."""
