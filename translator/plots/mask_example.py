"""The masks of a small batch, for a picture: two pairs of unlike length, a word for each token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from translator.data.batch import collate
from translator.masks import MaskGenerator
from translator.special_tokens import SPECIAL_TOKENS
from translator.training.plots import WORD_START, shown_pieces

PAIRS: Final = (
    ("The door is open .", "در باز است ."),
    ("Come in !", "بفرمایید !"),
)
"""The second is shorter, so that it is filled up with PAD."""


@dataclass(frozen=True)
class PairMasks:
    """The masks of one pair of the batch, whole: a row for each query, a column for each key, True = may attend."""

    source: list[str]
    """S labels."""
    target_input: list[str]
    """T labels."""
    encoder: npt.NDArray[np.bool_]
    """(S, S)."""
    decoder: npt.NDArray[np.bool_]
    """(T, T)."""
    cross: npt.NDArray[np.bool_]
    """(T, S)."""


def example_masks(pairs: Sequence[tuple[str, str]] = PAIRS) -> list[PairMasks]:
    """Return the masks that `MaskGenerator` makes of `pairs`, English and Persian words between spaces."""
    words = [[text.split() for text in pair] for pair in pairs]
    spellings = [spelling for spelling, _ in SPECIAL_TOKENS]
    spellings += sorted({WORD_START + word for pair in words for text in pair for word in text})
    number = {spelling: place for place, spelling in enumerate(spellings)}
    sources, targets = ([[number[WORD_START + word] for word in pair[side]] for pair in words] for side in (0, 1))
    batch = collate(sources, targets, range(len(pairs)))
    masks = MaskGenerator()(batch.source, batch.target_input)
    found = []
    for row in range(len(pairs)):
        source, target = batch.source[row].tolist(), batch.target_input[row].tolist()
        queries_keys = {
            "encoder": (masks.encoder, len(source), len(source)),
            "decoder": (masks.decoder, len(target), len(target)),
            "cross": (masks.cross, len(target), len(source)),
        }
        whole = {name: mask[row, 0].expand(shape).numpy() for name, (mask, *shape) in queries_keys.items()}
        found.append(
            PairMasks(
                shown_pieces([spellings[token] for token in source]),
                shown_pieces([spellings[token] for token in target], right_to_left=True),
                **whole,
            )
        )
    return found
