"""The contestants of the search figures: our own search, CTranslate2, and `generate` of Hugging Face transformers.

All three have the same weights, exported, and the same sentences as ids; none of them cuts or joins text.
"""

import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import torch
from safetensors.torch import load_file
from torch import Tensor

from translator.config import ModelConfig
from translator.data import collate_source
from translator.model import Transformer
from translator.model.cache import DecoderCache
from translator.model.prepared import prepare
from translator.model.prepared_linear import PreparedPrecision
from translator.search import beam_search, greedy_search, longest_outputs
from translator.special_tokens import EOS, PAD

MAX_LENGTH_RATIO: Final = 2.0
"""Longest output where lengths are natural, as a multiple of the longest source of a batch, ten tokens added."""

_ROWS_OF_A_STEP: Final = 16
"""Rows that take as long as what a step costs besides."""

Rows = Sequence[list[int]]


@dataclass(frozen=True)
class Batch:
    """Sentences searched together."""

    rows: Rows
    """Source ids without EOS."""
    length: int | None
    """Tokens that every output must have; None lets them end where they do."""

    @property
    def longest(self) -> int:
        """Tokens that an output may have."""
        return self.length or int(MAX_LENGTH_RATIO * (max(map(len, self.rows)) + 1)) + 10


class Engine(Protocol):
    """Something that translates batches."""

    def find(self, batches: Sequence[Batch], beam: int) -> int:
        """Translate all, with a beam of `beam` (1 is greedy), and return how many tokens came out."""


class Endless:
    """A model that never ends a sentence, so that the longest length is every length.

    Args:
        model: whose other tokens are searched.
    """

    def __init__(self, model: Transformer) -> None:
        self._model = model
        self.max_positions = model.max_positions

    def start(self, source: Tensor, width: int = 1) -> DecoderCache:
        """Return the state before the first step (see `SearchModel`)."""
        return self._model.start(source, width)

    def step(self, tokens: Tensor, cache: DecoderCache) -> Tensor:
        """Return the logits of the next tokens, EOS excluded (see `SearchModel`)."""
        logits = self._model.step(tokens, cache)
        logits[:, EOS] = -torch.inf
        return logits


class OurEngine:
    """Our own search.

    Args:
        folder: what `bench.search` has written.
        precision: of the products.
    """

    def __init__(self, folder: Path, precision: PreparedPrecision) -> None:
        settings = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        model = Transformer(ModelConfig.model_validate(settings["config"]), *settings["vocabularies"]).eval()
        model.load_state_dict(load_file(folder / "model.safetensors"))
        self._model = prepare(model, precision)
        self._endless = Endless(self._model)

    def find(self, batches: Sequence[Batch], beam: int) -> int:
        """Translate all (see `Engine`)."""
        tokens = 0
        for batch in batches:
            source = collate_source(batch.rows)
            model = self._model if batch.length is None else self._endless
            if batch.length is None:
                limits = longest_outputs(source, MAX_LENGTH_RATIO, self._model.max_positions)
            else:
                limits = torch.full((len(source),), batch.length)
            if beam == 1:
                best = greedy_search(model, source, limits)
            else:
                best = [found[0] for found in beam_search(model, source, limits, beam)]
            tokens += sum(len(hypothesis.tokens) for hypothesis in best)
        return tokens


class Ctranslate2Engine:
    """CTranslate2, which shares the batches among its workers by itself.

    Args:
        folder: what `bench.search` has written.
        kind: of the products, in its own words.
        workers: batches translated side by side.
        threads: of each worker.
    """

    def __init__(self, folder: Path, kind: str, workers: int, threads: int) -> None:
        library: Any = importlib.import_module("ctranslate2")
        self._model = library.Translator(
            str(folder / "ctranslate2"),
            device="cpu",
            compute_type=kind,
            inter_threads=workers,
            intra_threads=threads,
            max_queued_batches=-1,
        )
        self._pieces: list[str] = json.loads((folder / "pieces.json").read_text(encoding="utf-8"))

    def find(self, batches: Sequence[Batch], beam: int) -> int:
        """Translate all (see `Engine`)."""
        waiting: list[Any] = []
        for batch in batches:
            waiting += self._model.translate_batch(
                [[self._pieces[token] for token in (*row, EOS)] for row in batch.rows],
                beam_size=beam,
                max_input_length=0,
                min_decoding_length=batch.length or 1,
                max_decoding_length=batch.longest,
                asynchronous=True,
            )
        return sum(len(result.result().hypotheses[0]) for result in waiting)


class MarianEngine:
    """`generate` of MarianMTModel.

    Args:
        folder: what `bench.search` has written.
    """

    def __init__(self, folder: Path) -> None:
        library: Any = importlib.import_module("transformers")
        library.logging.set_verbosity_error()
        self._model = library.MarianMTModel.from_pretrained(str(folder / "marian"), local_files_only=True).eval()

    @torch.inference_mode()
    def find(self, batches: Sequence[Batch], beam: int) -> int:
        """Translate all (see `Engine`)."""
        tokens = 0
        for batch in batches:
            source = collate_source(batch.rows)
            found = self._model.generate(
                input_ids=source,
                attention_mask=(source != PAD).long(),
                num_beams=beam,
                do_sample=False,
                max_new_tokens=batch.longest,
                min_new_tokens=batch.length,
            )
            tokens += int((found[:, 1:] > EOS).sum())
        return tokens


def batches_of(rows: Rows, size: int, forced: bool) -> list[Batch]:
    """Return the batches of `rows`, longest first; a forced length is the source's, rounded up to a multiple of 8."""
    order = sorted(rows, key=len, reverse=True)
    groups: dict[int, list[list[int]]] = {}
    for row in order:
        groups.setdefault(-(-(len(row) + 1) // 8) * 8 if forced else 0, []).append(row)
    return [
        Batch(group[start : start + size], length or None)
        for length, group in groups.items()
        for start in range(0, len(group), size)
    ]


def share_of(batches: Sequence[Batch], part: int, parts: int) -> list[Batch]:
    """Return what process `part` of `parts` translates: the costliest batch goes to whoever has least, and so on."""
    shares: list[list[Batch]] = [[] for _ in range(parts)]
    loads = [0] * parts
    for batch in sorted(batches, key=_cost, reverse=True):
        idle = loads.index(min(loads))
        shares[idle].append(batch)
        loads[idle] += _cost(batch)
    return shares[part]


def _cost(batch: Batch) -> int:
    """Return about how long a batch takes, in rows and steps: a step with few rows is no quicker than one with some."""
    return batch.longest * (len(batch.rows) + _ROWS_OF_A_STEP)
