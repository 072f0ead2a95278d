"""Benchmarks: `python -m bench PART`. Every figure is a ratio measured inside one run, interleaved, with its spread."""
