"""What attention tells of a translation: where the decoder looked, and which words belong together by that."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class AttentionMap(NamedTuple):
    """Where the decoder looked while it produced each target piece."""

    source: list[str]
    target: list[str]
    weights: npt.NDArray[np.float32]
    """(T, S) cross-attention of the last layer, averaged over its heads; each row sums to 1."""

    def to_json(self) -> dict[str, Any]:
        """Return the map for JSON, weights to four places."""
        rows = [[round(float(weight), 4) for weight in row] for row in self.weights]
        return {"source": self.source, "target": self.target, "weights": rows}


@dataclass(frozen=True)
class Alignment:
    """Which words of a translation come from which of its source, as far as attention tells."""

    source: tuple[str, ...]
    """Words of the source, as the model sees it: after normalization."""
    target: tuple[str, ...]
    """Words of the translation."""
    pairs: tuple[tuple[int, int], ...]
    """Indexes from 0 of a source word and a target word, in the order of the target; one for each target word."""

    @property
    def pharaoh(self) -> str:
        """The pairs as Pharaoh and fast_align write them: `0-0 1-2`."""
        return " ".join(f"{source}-{target}" for source, target in self.pairs)

    def to_json(self) -> dict[str, Any]:
        """Return the alignment for JSON."""
        return {"source": list(self.source), "target": list(self.target), "pairs": [list(pair) for pair in self.pairs]}

    @classmethod
    def joined(cls, parts: "Sequence[Alignment]") -> "Alignment":
        """Return the alignment of parts that follow one another."""
        pairs: list[tuple[int, int]] = []
        source: tuple[str, ...] = ()
        target: tuple[str, ...] = ()
        for part in parts:
            pairs += [(of_source + len(source), of_target + len(target)) for of_source, of_target in part.pairs]
            source, target = source + part.source, target + part.target
        return cls(source, target, tuple(pairs))
