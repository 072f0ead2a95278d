"""Which pairs are trained on: filters, duplicates, leaks into held-out text, splits."""
