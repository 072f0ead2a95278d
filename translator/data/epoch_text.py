"""The text of an epoch: what augmentation and subword sampling make of each pair that the epoch draws.

The ids of a pair are a pure function of the run's seed, the epoch, the pair, and how often the epoch has drawn it
before. So are their lengths, from which rows are planned: most pairs keep their stored ids and lengths; the others are
changed and encoded for the plan, and once more for their batch, which any process can do.

N pairs
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from translator.config.training_section import AugmentationConfig
from translator.core.batch import Numbers
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.data.augmentation import Augmentation, SidePair
from translator.data.mixture import Drawn
from translator.data.prepared_lines import PreparedLines
from translator.data.token_store import PairLengths, PairStore, ranges
from translator.run.prepared_folder import DIGITS_IN_NAME
from translator.run.storage import sha256_of_json
from translator.subword import SubwordPair
from translator.subword.flat_rows import FlatRows, Ids
from translator.subword.source_text import training_pair
from translator.subword.subword_sampling import SubwordSampler

VERSION: Final = 6  # increased when the same settings give other pieces


class DrawnIds(NamedTuple):
    """The ids of N pairs, one sentence after the other, without special tokens; and the lengths with them."""

    source: Ids
    target: Ids
    lengths: PairLengths


@dataclass(frozen=True)
class EpochText:
    """All that determines the ids of an epoch; picklable, as it opens its files where it is used."""

    corpus: PreparedCorpus
    sources: Mapping[str, int]  # names of the corpus sources with training text, in order, and their pairs
    token_folder: Path  # the stores of the training split
    subword_folder: Path
    strength: float  # `subword.sampling`; 0 uses the unsampled pieces
    augmentation: AugmentationConfig
    seed: int
    max_length: int  # of a side in tokens, special token included; a longer changed pair stays unchanged

    @property
    def changes(self) -> bool:
        """Whether any pair of an epoch differs from the stored text."""
        return self.strength > 0 or any(self.augmentation.model_dump().values())

    def fingerprint(self, tokens: str) -> str:
        """Return the fingerprint (16 hex digits) of training on this text; `tokens` is that of the plain stores."""
        if not self.changes:
            return tokens
        origin = {
            "tokens": tokens,
            "sampling": self.strength,
            "version": VERSION,
            "augmentation": self.augmentation.model_dump(),
        }
        return sha256_of_json(origin)[:DIGITS_IN_NAME]

    @functools.cached_property
    def store(self) -> PairStore:
        """The stored ids of the training split."""
        return PairStore(self.token_folder, self.sources, self.corpus.sides)

    @functools.cached_property
    def _changer(self) -> "_PairChanger":
        return _PairChanger(self)

    def __getstate__(self) -> dict[str, object]:
        """Drop the open files, which another process opens itself."""
        state = dict(self.__dict__)
        state.pop("store", None)
        state.pop("_changer", None)
        return state

    def is_changed(self, drawn: Drawn) -> NDArray[np.bool_]:
        """Return which of the pairs may differ from the stored text, (N,)."""
        if self.strength > 0:
            return np.ones(len(drawn.pairs), np.bool_)
        return np.asarray(self._changer.augmentation.chosen(self.seed, drawn).any(axis=1))

    def ids(self, drawn: Drawn) -> DrawnIds:
        """Return the ids of the pairs."""
        changed = np.flatnonzero(self.is_changed(drawn)) if self.changes else np.zeros(0, np.int64)
        source_ids, target_ids = self.store.flat(drawn.pairs)
        lengths = self.store.lengths(drawn.pairs)
        if len(changed) == 0:
            return DrawnIds(source=source_ids, target=target_ids, lengths=lengths)
        rows = self._changer.changed_rows(drawn.at(changed))
        source = _with_changed(source_ids, lengths.source, changed, rows[0])
        target = _with_changed(target_ids, lengths.target, changed, rows[1])
        return DrawnIds(source.ids, target.ids, PairLengths(source=source.lengths + 1, target=target.lengths + 1))

    def changed_lengths(self, drawn: Drawn) -> PairLengths:
        """Return the tokens of pairs all of which `is_changed`; each side includes its special token."""
        source, target = self._changer.changed_rows(drawn)
        return PairLengths(source=source.lengths + 1, target=target.lengths + 1)


def _with_changed(ids: Ids, lengths: NDArray[np.int64], changed: Numbers, rows: FlatRows) -> FlatRows:
    """Return one side of N pairs with other ids for those at the places `changed`.

    Args:
        ids: the stored ids, one sentence after the other.
        lengths: (N,) their tokens, the special token included.
        changed: places of the changed pairs.
        rows: their new ids.
    """
    old_lengths = lengths - 1
    new_lengths = old_lengths.copy()
    new_lengths[changed] = rows.lengths
    starts = np.cumsum(new_lengths) - new_lengths
    old_starts = np.cumsum(old_lengths) - old_lengths
    is_stored = np.ones(len(lengths), np.bool_)
    is_stored[changed] = False
    new_ids = np.empty(int(new_lengths.sum()), np.int32)
    stored_places = ranges(starts[is_stored], old_lengths[is_stored])
    new_ids[stored_places] = ids[ranges(old_starts[is_stored], old_lengths[is_stored])]
    new_ids[ranges(starts[changed], rows.lengths)] = rows.ids
    return FlatRows(ids=new_ids, lengths=new_lengths)


class _PairChanger:
    """Changes and encodes pairs, in one process."""

    def __init__(self, text: EpochText) -> None:
        self._text = text
        subword = SubwordPair.load(text.subword_folder)
        self._models = (subword.source, subword.target)
        self._placeholders = list(subword.source.placeholders)
        self.augmentation = Augmentation(text.augmentation, self._placeholders)
        self._samplers: dict[tuple[int, int], SubwordSampler] = {}  # by epoch and side; of one epoch at a time
        self._lines: list[tuple[PreparedLines, PreparedLines]] = []
        for name in text.sources:
            self._lines.append((self._lines_of(name, 0), self._lines_of(name, 1)))
        self._starts = text.store.starts

    def _lines_of(self, name: str, column: int) -> PreparedLines:
        side = self._text.corpus.sides[column]
        return PreparedLines(
            self._text.corpus.directory / "train" / f"{name}.{side}", self._text.token_folder / f"{name}.{side}"
        )

    def changed_rows(self, drawn: Drawn) -> tuple[FlatRows, FlatRows]:
        """Return the ids of both sides of the pairs."""
        pairs = self._changed_pairs(drawn)
        places: list[str] = []
        for number, repetition in zip(drawn.pairs.tolist(), drawn.repetitions.tolist(), strict=True):
            places.append(f"{number} {repetition}")
        sources = self._encoded(0, [pair.source for pair in pairs], places, drawn.epoch)
        targets = self._encoded(1, [pair.target for pair in pairs], places, drawn.epoch)
        return FlatRows.of(sources), FlatRows.of(targets)

    def _changed_pairs(self, drawn: Drawn) -> list[SidePair]:
        """Return the text of each pair, augmented unless that would make one of its sides too long."""
        # 1. Augment all pairs. Both sides are needed, because a change may concern both.
        plain_pairs: list[SidePair] = []
        pairs: list[SidePair] = []
        chosen = self.augmentation.chosen(self._text.seed, drawn)
        for pair, repetition, kinds in zip(
            drawn.pairs.tolist(), drawn.repetitions.tolist(), chosen.tolist(), strict=True
        ):
            plain_pair = SidePair(*training_pair(*self._pair(pair), self._placeholders))
            plain_pairs.append(plain_pair)
            seed = f"{self._text.seed} {drawn.epoch} {pair} {repetition}"
            pairs.append(self.augmentation.apply(plain_pair, kinds, seed))

        # 2. Keep a pair as it was if a side would be too long.
        source_rows = self._models[0].encode([pair.source for pair in pairs])
        target_rows = self._models[1].encode([pair.target for pair in pairs])
        for number, (source_row, target_row) in enumerate(zip(source_rows, target_rows, strict=True)):
            if self._is_too_long(source_row) or self._is_too_long(target_row):
                pairs[number] = plain_pairs[number]
        return pairs

    def _pair(self, number: int) -> tuple[str, str]:
        """Return the prepared text of a pair of the split."""
        source = int(np.searchsorted(self._starts, number, side="right")) - 1
        source_lines, target_lines = self._lines[source]
        line = number - int(self._starts[source])
        return source_lines[line], target_lines[line]

    def _encoded(self, column: int, texts: Sequence[str], places: Sequence[str], epoch: int) -> list[list[int]]:
        """Return the ids of the texts of one side, sampled if the recipe says so: 0 for the source, 1 for the target.

        The plain pieces replace a sample that is too long.
        """
        model = self._models[column]
        if self._text.strength == 0:
            return model.encode(texts)
        rows = self._sampler(column, epoch).sample(texts, places)
        long_rows = [number for number, row in enumerate(rows) if self._is_too_long(row)]
        plain_rows = model.encode([texts[number] for number in long_rows])
        for number, plain_row in zip(long_rows, plain_rows, strict=True):
            rows[number] = plain_row
        return rows

    def _sampler(self, column: int, epoch: int) -> SubwordSampler:
        """Return the sampler of a side for an epoch, which draws anew in each epoch."""
        if (epoch, column) not in self._samplers:
            self._samplers = {place: sampler for place, sampler in self._samplers.items() if place[0] == epoch}
            side = self._text.corpus.sides[column]
            seed = f"{self._text.seed} {epoch} {side}"
            self._samplers[epoch, column] = self._models[column].sampler(self._text.strength, seed)
        return self._samplers[epoch, column]

    def _is_too_long(self, row: Sequence[int]) -> bool:
        return len(row) + 1 > self._text.max_length  # with the special token
