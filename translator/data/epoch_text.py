"""The text of an epoch: what augmentation and subword sampling make of each pair that the epoch draws.

The ids of a pair are a pure function of the run's seed, the epoch, the pair, and how often the epoch has drawn it
before. So are their lengths, from which rows are planned: most pairs keep their stored ids and lengths; the others are
changed and encoded for the plan, and once more for their batch, which any process can do. A process keeps the last of
them, so a small corpus that one process plans and reads is encoded once.

N pairs
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.config.training_section import AugmentationConfig
from translator.core.batch import Ids, Numbers
from translator.data.augmentation import Augmentation, SidePair
from translator.data.mixture import Draws
from translator.data.pair_text import PairText
from translator.data.token_store import PairStore
from translator.run.files import DIGITS_IN_NAME, sha256_of_json
from translator.subword import SubwordModel
from translator.subword.block_encoding import FlatRows
from translator.subword.source_text import training_pair
from translator.subword.subword_sampling import SubwordSampler

VERSION: Final = 7  # increased when the same settings give other pieces
_KEPT_PAIRS: Final = 20_000  # changed pairs whose ids are kept, a few MB


@dataclass(frozen=True, eq=False)  # an object is a key of the cache of `_changed_row`
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

    def is_changed(self, draws: Draws) -> NDArray[np.bool_]:
        """Return which of the pairs may differ from the stored text, (N,)."""
        if self.sampling > 0:
            return np.ones(len(draws.pairs), np.bool_)
        return np.asarray(self._changes.chosen(self.seed, draws).any(axis=1))

    def ids(self, draws: Draws) -> tuple[FlatRows, FlatRows]:
        """Return the ids of the sources and the targets of the pairs."""
        source, target = self.store.flat(draws.pairs)
        places = np.flatnonzero(self.is_changed(draws))
        if len(places) == 0:
            return source, target

        changed = draws.at(places)
        chosen = self._changes.chosen(self.seed, changed).tolist()
        source_rows = []
        target_rows = []
        for pair, repetition, kinds in zip(changed.pairs.tolist(), changed.repetitions.tolist(), chosen, strict=True):
            source_row, target_row = self._changed_row(draws.epoch, pair, repetition, tuple(kinds))
            source_rows.append(source_row)
            target_rows.append(target_row)
        return _with_rows(source, places, source_rows), _with_rows(target, places, target_rows)

    def lengths(self, draws: Draws) -> tuple[Numbers, Numbers]:
        """Return the tokens of the sources and the targets of the pairs, (N,) each, without special tokens."""
        source, target = self.ids(draws)
        return source.lengths, target.lengths

    # --- the pairs that the epoch changes ---

    @functools.cached_property
    def _placeholders(self) -> list[str]:
        return list(self.models[0].placeholders)

    @functools.cached_property
    def _changes(self) -> Augmentation:
        return Augmentation(self.augmentation, self._placeholders)

    def _encoded(self, pair: SidePair) -> list[list[int]]:
        """Return the unsampled ids of a pair, for the source and for the target."""
        return [model.encode_one(text) for model, text in zip(self.models, pair, strict=True)]

    @functools.lru_cache(maxsize=_KEPT_PAIRS)  # noqa: B019 - a training has one object, until its end
    def _changed_row(self, epoch: int, pair: int, repetition: int, kinds: tuple[bool, ...]) -> tuple[Ids, Ids]:
        """Return the ids of both sides of a pair in an epoch, without special tokens.

        In a small corpus, what a plan has encoded is kept for its batches.
        """
        # 1. Change the text. Both sides are needed, because a change may concern both.
        place = f"{pair} {repetition}"
        plain_pair = SidePair(*training_pair(*self.text[pair], self._placeholders))
        changed_pair = self._changes.apply(plain_pair, kinds, f"{self.seed} {epoch} {place}")

        # 2. Encode it. A pair of which a side is too long now stays as it was.
        rows = self._encoded(changed_pair)
        if any(map(self._is_too_long, rows)):
            changed_pair = plain_pair
            rows = self._encoded(plain_pair)

        # 3. Sampled pieces replace the usual ones, where they fit.
        if self.sampling > 0:
            for side, (model, text) in enumerate(zip(self.models, changed_pair, strict=True)):
                sampler = _sampler(model, self.sampling)
                sample = sampler.sample(text, f"{self.seed} {epoch} {self.store.sides[side]} {place}")
                if not self._is_too_long(sample):
                    rows[side] = sample
        source, target = rows
        return np.array(source, np.int32), np.array(target, np.int32)

    def _is_too_long(self, row: Sequence[int]) -> bool:
        return len(row) + 1 > self.max_length  # with the special token


@functools.lru_cache(maxsize=2)
def _sampler(model: SubwordModel, strength: float) -> SubwordSampler:
    """Return the sampler of a side; those of both sides are kept, with the words that they have seen."""
    return model.sampler(strength)


def _with_rows(rows: FlatRows, places: Numbers, new_rows: Sequence[Ids]) -> FlatRows:
    """Return `rows` with other ids for the sentences at `places`, which are ascending."""
    is_new = np.zeros(len(rows.lengths), np.bool_)
    is_new[places] = True
    lengths = rows.lengths.copy()
    lengths[places] = [len(row) for row in new_rows]

    # Sentences keep their order, so each kind of tokens is copied at once.
    is_new_token = np.repeat(is_new, lengths)
    is_old_token = ~is_new_token
    stays = np.repeat(~is_new, rows.lengths)  # of the old tokens
    ids = np.empty(len(is_new_token), np.int32)
    ids[is_new_token] = np.concatenate(new_rows)
    ids[is_old_token] = rows.ids[stays]
    return FlatRows(ids=ids, lengths=lengths)
