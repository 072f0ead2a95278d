"""Checkpoints: saved whole or not at all, verified when loaded, never unpickled."""
