"""Corpus preparation: read the sources in place, normalize, filter and split them without leaks. Imports nothing."""
