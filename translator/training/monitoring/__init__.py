"""Watching a run: what is measured, and what log, progress bar and TensorBoard show of it.

Read `monitor` first: it collects the results of updates, and hands them to `event_file`.
"""
