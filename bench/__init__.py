"""Benchmarks: every figure is a ratio measured inside one run, interleaved, with median and spread.

make bench CONFIG=configs/mizan-small.yaml
"""
