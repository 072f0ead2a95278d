"""Search: picking target sequences from a model's probabilities, for whole batches."""
