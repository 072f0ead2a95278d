"""The text of an epoch: what augmentation makes of each pair that the epoch draws.

The ids of a pair are a pure function of the run's seed, the epoch, the pair, and how often the epoch has drawn it
before. So are their lengths, from which rows are planned: most pairs keep their stored ids and lengths; the others are
changed and encoded for the plan, and once more for their batch, which any process can do. A process keeps the last of
them, so a small corpus that one process plans and reads is encoded once.

The text that is changed is decoded from the stored ids. So no process reads the corpus, and what the models do not see
(case, unusual forms of letters) has no effect.

N pairs
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.config.training_section import AugmentationConfig
from translator.core import UNK
from translator.core.batch import Ids, Numbers
from translator.data.augmentation import Augmentation, SidePair
from translator.data.mixture import Draws
from translator.data.token_store import PairStore
from translator.run.files import DIGITS_IN_NAME, sha256_of_json
from translator.subword import SubwordModel
from translator.subword.block_encoding import FlatRows

VERSION: Final = 8  # increased when the same settings give other pieces
_KEPT_PAIRS: Final = 20_000  # changed pairs whose ids are kept, a few MB


@dataclass(frozen=True, eq=False)  # an object is a key of the cache of `_changed_rows`
class EpochText:
    """All that determines the ids of an epoch; picklable, as another process opens its files itself."""

    store: PairStore  # of the training split
    models: tuple[SubwordModel, SubwordModel]  # of source and target
    augmentation: AugmentationConfig
    seed: int
    max_length: int  # L of a row; a pair that is longer now, with its special token, stays unchanged

    def fingerprint(self, tokens: str) -> str:
        """Return the fingerprint (16 hex digits) of training on this text; `tokens` is that of the plain stores."""
        origin = {
            "tokens": tokens,
            "version": VERSION,
            "augmentation": self.augmentation.model_dump(),
        }
        return sha256_of_json(origin)[:DIGITS_IN_NAME]

    def with_changes(self, draws: Draws, generator: np.random.Generator) -> Draws:
        """Return the pairs of an epoch with the changes that `generator` draws for each."""
        return draws._replace(changes=self._augmentation.chosen(len(draws.pairs), generator))

    def is_changed(self, draws: Draws) -> NDArray[np.bool_]:
        """Return which of the pairs may differ from the stored text, (N,)."""
        return np.asarray(draws.changes.any(axis=1))

    def ids(self, draws: Draws) -> tuple[FlatRows, FlatRows]:
        """Return the ids of the sources and the targets of the drawn pairs, with the changes that each pair gets."""
        # 1. The stored ids of all pairs.
        source, target = self.store.flat(draws.pairs)
        places = np.flatnonzero(self.is_changed(draws))
        if len(places) == 0:
            return source, target

        # 2. The ids of the pairs that the epoch changes.
        changed = draws.at(places)
        columns = (changed.pairs.tolist(), changed.repetitions.tolist(), changed.changes.tolist())
        source_rows = []
        target_rows = []
        for pair, repetition, changes in zip(*columns, strict=True):
            source_row, target_row = self._changed_rows(draws.epoch, pair, repetition, tuple(changes))
            source_rows.append(source_row)
            target_rows.append(target_row)

        # 3. Replace the stored ids of these pairs.
        return _with_rows(source, places, source_rows), _with_rows(target, places, target_rows)

    def lengths(self, draws: Draws) -> tuple[Numbers, Numbers]:
        """Return the tokens of the sources and the targets of the pairs, (N,) each, without special tokens."""
        source, target = self.ids(draws)
        return source.lengths, target.lengths

    # --- the pairs that the epoch changes ---

    @functools.cached_property
    def _augmentation(self) -> Augmentation:
        return Augmentation(self.augmentation, list(self.models[0].placeholders))

    @functools.lru_cache(maxsize=_KEPT_PAIRS)  # noqa: B019 - a training has one object, until its end
    def _changed_rows(self, epoch: int, pair: int, repetition: int, changes: tuple[bool, ...]) -> tuple[Ids, Ids]:
        """Return the ids of both sides of a pair in an epoch, without special tokens.

        The plan of an epoch needs the lengths of these ids, and its batches need the ids: in a small corpus, the cache
        saves encoding a pair twice. `repetition` is how often the epoch has drawn the pair before, `changes` the kinds
        of changes that it gets; see `Draws`.
        """
        # A pair with UNK stays as it is, because its text cannot be decoded.
        source, target = self.store.flat(np.array([pair]))
        stored_rows = [source.ids.tolist(), target.ids.tolist()]
        if any(UNK in row for row in stored_rows):
            return source.ids, target.ids

        # 1. Change the text. Both sides are needed, because a change may concern both.
        source_model, target_model = self.models
        (plain_source,) = source_model.decode_ids([stored_rows[0]])
        (plain_target,) = target_model.decode_ids([stored_rows[1]])
        plain_pair = SidePair(source=plain_source, target=plain_target)
        changed_pair = self._augmentation.apply(plain_pair, changes, f"{self.seed} {epoch} {pair} {repetition}")

        # 2. Encode the changed text. If a side is too long now, the pair stays as it was.
        rows = [model.encode_one(text) for model, text in zip(self.models, changed_pair, strict=True)]
        longer_side = max(map(len, rows)) + 1  # with the special token
        if longer_side > self.max_length:
            return source.ids, target.ids
        source_row, target_row = rows
        return np.array(source_row, np.int32), np.array(target_row, np.int32)


def _with_rows(rows: FlatRows, places: Numbers, new_rows: Sequence[Ids]) -> FlatRows:
    """Return `rows` with `new_rows` in place of the sentences at `places`, which are ascending."""
    # 1. The new lengths of the sentences.
    is_replaced = np.zeros(len(rows.lengths), np.bool_)  # (N,)
    is_replaced[places] = True
    lengths = rows.lengths.copy()  # (N,)
    lengths[places] = [len(row) for row in new_rows]

    # 2. Copy all new tokens at once, and all old tokens that stay: both are in the order of the sentences.
    is_new_token = np.repeat(is_replaced, lengths)  # (tokens of the result,)
    is_old_token = ~is_new_token
    token_stays = np.repeat(~is_replaced, rows.lengths)  # (tokens of `rows`,)
    ids = np.empty(len(is_new_token), np.int32)
    ids[is_new_token] = np.concatenate(new_rows)
    ids[is_old_token] = rows.ids[token_stays]
    return FlatRows(ids=ids, lengths=lengths)
