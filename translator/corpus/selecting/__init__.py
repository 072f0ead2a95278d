"""Which pairs are trained on.

Read: cleaning, with filters (scripts, number_agreement) and folding; then selection, with duplicates, near_duplicates,
split and leaks.
"""
