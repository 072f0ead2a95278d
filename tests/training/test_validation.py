"""Validation on one process and on several gives the same numbers, and all stop together."""

import copy
import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.support.small_model import small_model
from tests.support.toy import letters, write_pairs
from translator.config import Config, parse_config
from translator.core.loss import TeacherForcing
from translator.core.transformer import Transformer
from translator.data import DataHandler, collate_rows, handler
from translator.inference.torch_searcher import TorchSearcher
from translator.inference.translator import Translator
from translator.speed.blockwise_loss import blockwise_head_loss
from translator.speed.device import Arithmetic
from translator.training.distributed import Distributed
from translator.training.validation import Validation, Validator

RECIPE = """
run: {{directory: "{folder}/run", seed: 1, device: cpu, threads: 1}}
corpus:
  sources: [{{name: words, path: "{folder}/words.tsv"}}, {{name: others, path: "{folder}/others.tsv"}}]
  filters: {{min_target_script: null, max_untranslated: null}}
  split: {{validation: 40, test: 10}}
  prepared_directory: "{folder}/prepared"
subword: {{model_type: char, vocabulary_size: 60}}
batching: {{tokens_per_batch: 80, max_length: 40}}
model:
  {{d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 32, dropout: 0.1, max_positions: 64}}
training: {{validation_sentences: 30}}
search: {{method: greedy, max_length_ratio: 1.0}}
"""


class StopError(Exception):
    """Stands in for a stop signal."""


@dataclass(eq=False)
class ThreadRanks(Distributed):
    """A rank run as a thread of this process; it fails if it waits for the others in vain."""

    barrier_of_all: threading.Barrier = field(kw_only=True)
    shared: list[Any] = field(kw_only=True)

    def _gather(self, value: Any) -> list[Any]:
        self.shared[self.rank] = value
        self.barrier_of_all.wait(120)
        values = list(self.shared)
        self.barrier_of_all.wait(120)
        return values

    def sum(self, values: Sequence[float]) -> list[float]:
        return [sum(column) for column in zip(*self._gather(list(values)), strict=True)]

    def gather_text(self, text: str) -> list[str]:
        return self._gather(text)


class Setting:
    """An untrained model on a corpus of two sources: `words` repeats its words, `others` spells them backwards."""

    def __init__(self, folder: Path) -> None:
        same_words = [(word, word) for word in letters(150, seed=1)]
        write_pairs(folder / "words.tsv", same_words)
        reversed_words = [(word, word[::-1]) for word in letters(150, seed=2)]
        write_pairs(folder / "others.tsv", reversed_words)

        self.config: Config = parse_config(RECIPE.format(folder=folder), "recipe.yaml")
        self.data = DataHandler(self.config)
        source, target = self.data.subword.source, self.data.subword.target
        torch.manual_seed(0)
        self._model = Transformer(self.config.model.settings, source.vocabulary_size, target.vocabulary_size)

    def model(self) -> Transformer:
        return copy.deepcopy(self._model)

    def translator(self) -> Translator:
        searcher = TorchSearcher([self.model().eval()], torch.device("cpu"))
        return Translator(searcher, self.data.subword, self.data.normalizer, self.config.search, 40)

    def validate(self, ranks: Distributed, check: Callable[[], None] = lambda: None) -> Validation:
        arithmetic = Arithmetic(torch.device("cpu"), "float32")
        return Validator(self.config, self.data, self.model(), arithmetic, check, ranks).validate()

    def together(self, world: int, check: Callable[[Distributed], None]) -> list[Validation | BaseException]:
        """Return what each of `world` ranks gives, a validation or the StopError that `check` raised."""
        barrier = threading.Barrier(world)
        shared = [None] * world

        def member(rank: int) -> Validation | BaseException:
            ranks = ThreadRanks(rank, world, barrier_of_all=barrier, shared=shared)
            try:
                return self.validate(ranks, lambda: check(ranks))
            except StopError as error:
                return error
            except BaseException:
                barrier.abort()
                raise

        with ThreadPoolExecutor(world) as pool:
            return list(pool.map(member, range(world)))


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    return Setting(tmp_path_factory.mktemp("validation"))


@pytest.fixture(autouse=True)
def small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TorchSearcher, "batch_rows", 4)


def test_losses_by_sentence_of_a_batch_of_rows_equal_those_of_the_sentences_one_by_one() -> None:
    model = small_model(dropout=0.0).double()
    loss = TeacherForcing(model, label_smoothing=0.0, r_drop=0.0, head_loss=blockwise_head_loss)

    # Rows of three sentences, of one, and of none.
    first_row = [([5, 6, 7], [20, 21]), ([8], [22, 23, 24, 25]), ([9, 10], [26])]
    second_row = [([11, 12, 13], [20])]
    batch = collate_rows([first_row, second_row, []], row_length=14)
    token_losses = loss(batch).of_tokens
    sentence_losses = batch.sum_by_sentence(token_losses)

    expected = []
    for pair in first_row + second_row:
        single_sentence = collate_rows([[pair]])
        expected.append(loss(single_sentence).of_tokens.sum().item())
    assert sentence_losses.tolist() == pytest.approx(expected, rel=1e-6)


@dataclass
class PlainLosses:
    """Sums of `F.cross_entropy` over sentences one by one."""

    losses: dict[str, float]  # by source
    tokens: dict[str, int]


@pytest.fixture(scope="module")
def plain(setting: Setting) -> PlainLosses:
    model = setting.model().eval()
    corpus = setting.data.corpus
    subword = setting.data.subword
    sums = PlainLosses(losses={}, tokens={})
    for name in corpus.names("validation"):
        sums.losses[name] = 0.0
        sums.tokens[name] = 0
        for source, target in corpus.pairs("validation", name):
            (source_ids,) = subword.source.encode([source])
            (target_ids,) = subword.target.encode([target])
            batch = collate_rows([[(source_ids, target_ids)]])
            with torch.no_grad():
                logits = model(batch.source, batch.target_input)
            loss = F.cross_entropy(logits[0], batch.labels[0], reduction="sum")
            sums.losses[name] += loss.item()
            sums.tokens[name] += batch.target_tokens
    return sums


def test_losses_equal_plain_cross_entropy_over_all_pairs(setting: Setting, plain: PlainLosses) -> None:
    loss = sum(plain.losses.values()) / sum(plain.tokens.values())
    scores = setting.validate(Distributed()).scores
    assert scores["loss"] == pytest.approx(loss, rel=1e-5)
    assert scores["perplexity"] == pytest.approx(math.exp(loss), rel=1e-4)


@pytest.mark.parametrize("name", ["words", "others"])
def test_losses_of_a_source_equal_plain_cross_entropy_over_its_pairs(
    setting: Setting, plain: PlainLosses, name: str
) -> None:
    loss = setting.validate(Distributed()).loss_by_source[name]
    assert loss == pytest.approx(plain.losses[name] / plain.tokens[name], rel=1e-5)


def test_the_model_returns_to_its_mode(setting: Setting) -> None:
    model = setting.model().train()
    arithmetic = Arithmetic(torch.device("cpu"), "float32")
    Validator(setting.config, setting.data, model, arithmetic, lambda: None, Distributed()).validate()
    assert model.training


def test_the_sample_is_translated_line_by_line_as_in_an_evaluation(setting: Setting) -> None:
    arithmetic = Arithmetic(torch.device("cpu"), "float32")
    validator = Validator(setting.config, setting.data, setting.model(), arithmetic, lambda: None, Distributed())
    assert not validator.translator.search.split_sentences


def test_shown_translations_equal_those_of_the_translator(setting: Setting) -> None:
    watched = setting.validate(Distributed()).watched
    assert len(watched) == 3
    for pair in watched:
        assert pair.hypothesis == setting.translator().translate(pair.source)


@dataclass
class OverLong:
    """A validation in which no pair of some sources fits into a row, and the usual one."""

    validation: Validation
    usual: Validation


@pytest.fixture(params=["words", "all"])
def over_long(setting: Setting, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> OverLong:
    """Pairs of `words`, or all pairs, do not fit."""
    usual = setting.validate(Distributed())
    pair_count = setting.data.pair_count("validation")
    words_count = setting.data.corpus.count("validation", "words")
    first_fitting = words_count if request.param == "words" else pair_count
    fitting_numbers = np.arange(first_fitting, pair_count)
    monkeypatch.setattr(handler, "usable_by_source", lambda *_: [fitting_numbers])
    return OverLong(validation=setting.validate(Distributed()), usual=usual)


def test_pairs_that_do_not_fit_into_a_row_are_translated_and_scored(over_long: OverLong) -> None:
    assert over_long.validation.watched == over_long.usual.watched
    assert over_long.validation.scores["chrf"] == over_long.usual.scores["chrf"]


def test_a_source_of_which_no_pair_fits_into_a_row_has_no_loss(over_long: OverLong) -> None:
    assert "words" not in over_long.validation.loss_by_source


def test_a_validation_of_which_no_pair_fits_into_a_row_has_no_loss(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "usable_by_source", lambda *_: [])
    assert setting.validate(Distributed()).scores.keys() == {"bleu", "chrf"}


@pytest.mark.parametrize("world_size", [2, 9])
def test_several_ranks_give_the_same_validation_as_one(setting: Setting, world_size: int) -> None:
    alone = setting.validate(Distributed())
    for validation in setting.together(world_size, lambda ranks: None):
        assert validation == alone


@pytest.mark.parametrize("signal_at", [0, 5])
def test_a_signal_at_one_rank_stops_all(setting: Setting, signal_at: int) -> None:
    """Rank 1 notices the signal at check number `signal_at` (from 0); no rank is left waiting."""
    checks = [0, 0]

    def check(ranks: Distributed) -> None:
        checks[ranks.rank] += 1
        is_signalled = ranks.rank == 1 and checks[1] > signal_at
        (signalled_ranks,) = ranks.sum([float(is_signalled)])
        if signalled_ranks > 0:
            raise StopError

    results = setting.together(2, check)
    assert [type(result) for result in results] == [StopError, StopError]
    assert checks == [signal_at + 1, signal_at + 1]
