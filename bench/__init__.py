"""Benchmarks: `python -m bench PART`. Every figure is a ratio with its spread, from interleaved rounds of one run."""
