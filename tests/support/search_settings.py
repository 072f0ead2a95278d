"""Search settings, and what hypothesis draws them from."""

from typing import Literal

from hypothesis import strategies as st

from translator.core.hypothesis import SearchSettings

SEEDS = st.integers(0, 10**6)
ALPHAS = st.sampled_from([0.0, 0.6, 1.0, 2.5])
NORMALIZATIONS = st.sampled_from(["gnmt", "average"])

Normalization = Literal["gnmt", "average"]


def beam(width: int, alpha: float = 1.0, normalization: Normalization = "gnmt") -> SearchSettings:
    return SearchSettings(beam_size=width, length_penalty=alpha, length_normalization=normalization)
