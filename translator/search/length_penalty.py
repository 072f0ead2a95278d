"""The length penalty of Wu et al. 2016 §7, equation 14, without its coverage term."""


def length_penalty(length: int, alpha: float) -> float:
    """Return ((5 + length) / 6) ** alpha, what a sum of log-probabilities of `length` tokens is divided by.

    Args:
        length: tokens that were chosen, EOS included.
        alpha: 0 compares plain sums, which favours short hypotheses; 1 compares near-means.
    """
    return float(((5.0 + length) / 6.0) ** alpha)


def best_reachable(score: float, longest: int, alpha: float) -> float:
    """Return an upper bound on the normalized score of anything that continues a hypothesis.

    Each further token adds a log-probability, at most 0, so `score` (at most 0) can only fall; dividing by the largest
    penalty, that of the longest length, brings a negative number nearest to 0.

    Args:
        score: sum of log-probabilities so far.
        longest: tokens that the hypothesis may grow to, EOS included.
        alpha: of the length penalty, not negative.
    """
    return score / length_penalty(longest, alpha)
