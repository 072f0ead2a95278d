"""How often the tests draw sentences, so that intervals and p-values take no time."""

RESAMPLES = 40  # in place of 1,000: bootstrap resamples of an interval or of a paired test
TRIALS = 200  # in place of 10,000: trials of approximate randomisation
