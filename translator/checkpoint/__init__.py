"""Checkpoints: saved atomically, verified on loading, never unpickled."""
