"""Files, streams and the prompt: lines in, as many lines out."""
