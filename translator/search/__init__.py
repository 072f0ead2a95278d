"""Search: finds target sequences under a model's probabilities, for whole batches."""
