"""The length penalty: makes scores of hypotheses of different lengths comparable. Imports no torch."""

from translator.config import SearchConfig


def length_penalty(length: float, config: SearchConfig) -> float:
    """Return the divisor of the summed log-probability of a hypothesis.

    Without it, a search would favour short hypotheses, because each token adds a log-probability of at most 0. The
    divisor does not decrease with length. So the sum, divided by the divisor of the maximum length, is an upper bound
    on the normalized score of every continuation.

    Args:
        length: tokens of the hypothesis, EOS included.
        config: gives the exponent alpha (`length_penalty`) and the base (`length_normalization`): (5 + length) / 6 for
            `gnmt` (Wu et al. 2016 §7, equation 14), the length itself for `average`.

    >>> length_penalty(7.0, SearchConfig(length_penalty=1.0))
    2.0
    """
    base = length
    if config.length_normalization == "gnmt":
        base = (length + 5.0) / 6.0
    penalty: float = base**config.length_penalty
    return penalty
