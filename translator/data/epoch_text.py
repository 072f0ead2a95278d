"""The text of an epoch: what augmentation and subword sampling make of each pair that the epoch draws.

The ids of a pair are a pure function of the run's seed, the epoch, the pair, and how often the epoch has drawn it
before. So are their lengths, from which rows are planned: most pairs keep their stored ids and lengths; the others are
changed and encoded for the plan, and once more for their batch, which any process can do.

N pairs
"""

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.config.training_section import AugmentationConfig
from translator.core.batch import Numbers
from translator.data.augmentation import Augmentation, SidePair
from translator.data.mixture import Drawn
from translator.data.pair_text import PairText
from translator.data.token_store import PairStore
from translator.run.prepared_folder import DIGITS_IN_NAME
from translator.run.storage import sha256_of_json
from translator.subword import SubwordModel
from translator.subword.block_encoding import FlatRows
from translator.subword.source_text import training_pair
from translator.subword.subword_sampling import SubwordSampler

VERSION: Final = 6  # increased when the same settings give other pieces


@dataclass(frozen=True)
class EpochText:
    """All that determines the ids of an epoch; picklable, as another process opens its files itself."""

    store: PairStore  # of the training split
    text: PairText
    models: tuple[SubwordModel, SubwordModel]  # of source and target
    sampling: float  # `subword.sampling`; 0 uses the unsampled pieces
    augmentation: AugmentationConfig
    seed: int
    max_length: int  # of a side in tokens, special token included; a longer changed pair stays unchanged

    @property
    def changes(self) -> bool:
        """Whether any pair of an epoch differs from the stored text."""
        return self.sampling > 0 or any(self.augmentation.model_dump().values())

    def fingerprint(self, tokens: str) -> str:
        """Return the fingerprint (16 hex digits) of training on this text; `tokens` is that of the plain stores."""
        if not self.changes:
            return tokens
        origin = {
            "tokens": tokens,
            "sampling": self.sampling,
            "version": VERSION,
            "augmentation": self.augmentation.model_dump(),
        }
        return sha256_of_json(origin)[:DIGITS_IN_NAME]

    def is_changed(self, drawn: Drawn) -> NDArray[np.bool_]:
        """Return which of the pairs may differ from the stored text, (N,)."""
        if self.sampling > 0:
            return np.ones(len(drawn.pairs), np.bool_)
        return np.asarray(self._changes.chosen(self.seed, drawn).any(axis=1))

    def ids(self, drawn: Drawn) -> tuple[FlatRows, FlatRows]:
        """Return the ids of the sources and the targets of the pairs."""
        source, target = self.store.flat(drawn.pairs)
        places = np.flatnonzero(self.is_changed(drawn))
        if len(places) > 0:
            source_rows, target_rows = self._changed_rows(drawn.at(places))
            source = _with_rows(source, places, source_rows)
            target = _with_rows(target, places, target_rows)
        return source, target

    # --- the pairs that the epoch changes ---

    @functools.cached_property
    def _placeholders(self) -> list[str]:
        return list(self.models[0].placeholders)

    @functools.cached_property
    def _changes(self) -> Augmentation:
        return Augmentation(self.augmentation, self._placeholders)

    def _changed_rows(self, drawn: Drawn) -> list[list[list[int]]]:
        """Return the ids of each pair, for the source and for the target."""
        # 1. Change the text of all pairs. Both sides are needed, because a change may concern both.
        plain_pairs: list[SidePair] = []
        pairs: list[SidePair] = []
        places: list[str] = []
        chosen = self._changes.chosen(self.seed, drawn).tolist()
        for pair, repetition, kinds in zip(drawn.pairs.tolist(), drawn.repetitions.tolist(), chosen, strict=True):
            place = f"{pair} {repetition}"
            plain_pair = SidePair(*training_pair(*self.text[pair], self._placeholders))
            pairs.append(self._changes.apply(plain_pair, kinds, f"{self.seed} {drawn.epoch} {place}"))
            plain_pairs.append(plain_pair)
            places.append(place)

        # 2. Encode it. A pair of which a side is too long now stays as it was.
        rows = self._encoded(pairs)
        too_long: list[int] = []
        for number, (source_row, target_row) in enumerate(zip(*rows, strict=True)):
            if self._is_too_long(source_row) or self._is_too_long(target_row):
                too_long.append(number)
                pairs[number] = plain_pairs[number]
        for side, plain_rows in enumerate(self._encoded([pairs[number] for number in too_long])):
            for number, plain_row in zip(too_long, plain_rows, strict=True):
                rows[side][number] = plain_row

        # 3. Sampled pieces replace the usual ones, where they fit.
        if self.sampling > 0:
            for side, model in enumerate(self.models):
                sampler = _sampler(model, self.sampling, f"{self.seed} {drawn.epoch} {self.store.sides[side]}")
                samples = sampler.sample([pair[side] for pair in pairs], places)
                for number, sample in enumerate(samples):
                    if not self._is_too_long(sample):
                        rows[side][number] = sample
        return rows

    def _encoded(self, pairs: Sequence[SidePair]) -> list[list[list[int]]]:
        """Return the unsampled ids of each pair, for the source and for the target."""
        return [model.encode([pair[side] for pair in pairs]) for side, model in enumerate(self.models)]

    def _is_too_long(self, row: Sequence[int]) -> bool:
        return len(row) + 1 > self.max_length  # with the special token


@functools.lru_cache(maxsize=2)
def _sampler(model: SubwordModel, strength: float, seed: str) -> SubwordSampler:
    """Return the sampler of a side for an epoch; those of both sides are kept, with the words that they have seen."""
    return model.sampler(strength, seed)


def _with_rows(rows: FlatRows, places: Numbers, new_rows: Sequence[Sequence[int]]) -> FlatRows:
    """Return `rows` with other ids for the sentences at `places`, which are ascending."""
    is_new = np.zeros(len(rows.lengths), np.bool_)
    is_new[places] = True
    lengths = rows.lengths.copy()
    lengths[places] = [len(row) for row in new_rows]

    # The tokens of both kinds of sentences keep their order.
    ids = np.empty(int(lengths.sum()), np.int32)
    is_of_new = np.repeat(is_new, lengths)
    ids[is_of_new] = np.fromiter(itertools.chain.from_iterable(new_rows), np.int32)
    ids[~is_of_new] = rows.ids[np.repeat(~is_new, rows.lengths)]
    return FlatRows(ids=ids, lengths=lengths)
