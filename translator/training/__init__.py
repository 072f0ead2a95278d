"""Training: teacher forcing, the loss, the optimizer, validation, monitoring and checkpoints of a run."""
