"""A beam search, remembered step by step as the decoder's cache saw it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from translator.data import collate_source
from translator.errors import InputError
from translator.inference.loading import load_runs
from translator.inference.pieces import SourceCutter
from translator.model.cache import DecoderCache
from translator.search import search
from translator.search.model import SearchModel, State
from translator.training.plots import shown_pieces


@dataclass(frozen=True)
class BeamHistory:
    """What the cache of one sentence has taken in, by position and row."""

    tokens: npt.NDArray[np.int64]
    """(T, W) token that each row gave to the cache at each position, SOS first."""
    parents: npt.NDArray[np.int64]
    """(T, W) row of the position before whose branch each row continues; at the first position its own."""

    def allowed(self) -> npt.NDArray[np.bool_]:
        """Return (W, T, W): whether the newest position of each row may attend to what each row wrote at each position.

        It comes from the decoder's own cache, which is led through the same steps again.
        """
        length, width = self.tokens.shape
        cache = DecoderCache([], torch.ones(1, 1, 1, 1, dtype=torch.bool), 1, width, torch.float32)
        biases = cache.begin_step()
        for parents in self.parents[1:]:
            cache.select(torch.from_numpy(parents))
            biases = cache.begin_step()
        if biases.own is None:  # the first position: all rows are alike
            return np.ones((width, length, width), np.bool_)
        own: npt.NDArray[np.bool_] = (biases.own == 0).view(width, length, width).numpy()
        return own

    def first(self, steps: int) -> "BeamHistory":
        """Return the history as it was after so many steps."""
        return BeamHistory(self.tokens[:steps], self.parents[:steps])

    def branch(self, position: int, row: int) -> list[int]:
        """Return the rows, position by position, whose tokens lead to `row` at `position`, itself included."""
        rows = [row]
        for place in range(position, 0, -1):
            rows.append(int(self.parents[place, rows[-1]]))
        return rows[::-1]


@dataclass
class _RecordedState(Generic[State]):
    """The state of a search, and in what order its rows were last."""

    inner: State
    rows: Tensor

    def select(self, rows: Tensor) -> None:
        self.rows = rows
        self.inner.select(rows)


class _Recorder(Generic[State]):
    """A model that notes what a search of one sentence asks of it."""

    def __init__(self, model: SearchModel[State]) -> None:
        self._model = model
        self.tokens: list[list[int]] = []
        self.parents: list[list[int]] = []

    @property
    def max_positions(self) -> int:
        return self._model.max_positions

    def start(self, source: Tensor, width: int = 1) -> _RecordedState[State]:
        assert len(source) == 1
        return _RecordedState(self._model.start(source, width), torch.arange(width))

    def step(self, tokens: Tensor, cache: _RecordedState[State]) -> Tensor:
        self.tokens.append(tokens.tolist())
        self.parents.append(cache.rows.tolist())
        return self._model.step(tokens, cache.inner)


@dataclass(frozen=True)
class RememberedSearch:
    """A beam search over one sentence, with what a reader needs to read it."""

    history: BeamHistory
    pieces: Sequence[Sequence[str]]
    """(T, W) the tokens as labels, joined as they are in their branch."""
    text: str
    """What was translated."""
    translation: str


def remember_search(
    run: Path | str, text: str, *, checkpoint: str = "best", step: int | None = None, overrides: Sequence[str] = ()
) -> RememberedSearch:
    """Translate `text` with a run by beam search and return what the cache saw; of a long text, its first piece.

    Args:
        run: folder of the run.
        text: an English sentence.
        checkpoint: `best`, `last`, `averaged` or a step number.
        step: how many steps of the search are remembered; None remembers all.
        overrides: `key.path=value` for settings of the search; the method is always beam search.

    Raises:
        RunError: there is no run in the folder, or it is damaged.
        ConfigError: an override is wrong.
        InputError: the text is empty, the beam has one row, or the search had not so many steps.
    """
    loaded = load_runs([run], checkpoint=checkpoint, device="cpu", overrides=overrides)
    settings = loaded.search.model_copy(update={"method": "beam"})
    if settings.beam_size < 2:
        raise InputError("a beam of one row has no branches; give --beam 2 or more")
    pieces = SourceCutter(loaded.subword.source, loaded.normalizer, loaded.max_length - 1).cut([text], 1)
    if not pieces:
        raise InputError("the text is empty, and there is nothing to search; give an English sentence")
    recorder = _Recorder(loaded.models[0])
    best = search(recorder, collate_source([pieces[0].ids]), settings)[0][0]
    steps = len(recorder.tokens)
    if step is not None and not 1 <= step <= steps:
        raise InputError(f"--step {step} is not there: this search took {steps} steps; give 1 to {steps}")
    history = BeamHistory(np.array(recorder.tokens), np.array(recorder.parents)).first(step or steps)
    target = loaded.subword.target
    spellings = [target.pieces_of(row) for row in history.tokens.tolist()]
    (translation,) = target.decode_ids([list(best.tokens)])
    return RememberedSearch(history, branch_labels(history, spellings), text, translation)


def branch_labels(history: BeamHistory, spellings: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return a label for each of the (T, W) pieces, its letters joined to those of a branch that it is part of."""
    length, width = history.tokens.shape
    labels: list[list[str | None]] = [[None] * width for _ in range(length)]
    for last in range(length - 1, -1, -1):  # the longest branches first: they know what follows
        for row in range(width):
            rows = history.branch(last, row)
            joined = shown_pieces([spellings[at][of] for at, of in enumerate(rows)], right_to_left=True)
            for place, (of, label) in enumerate(zip(rows, joined, strict=True)):
                if labels[place][of] is None:
                    labels[place][of] = label
    return [[label or "" for label in row] for row in labels]
