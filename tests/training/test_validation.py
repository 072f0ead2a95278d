"""A validation gives the losses of all pairs that fit, and the scores of a translated sample."""

import copy
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.support.small_model import small_model
from tests.support.toy_corpora import letters, write_pairs
from translator.config import Config, parse_config
from translator.core.loss import TeacherForcing
from translator.core.transformer import Transformer
from translator.data import DataHandler, collate_rows
from translator.data.token_store import PairStore
from translator.inference.engines.torch_searcher import TorchSearcher
from translator.inference.translator import Translator
from translator.speed.blockwise_loss import blockwise_head_loss
from translator.speed.device import Arithmetic
from translator.training.monitoring.losses import sum_by_sentence
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

    def validator(self) -> Validator:
        return Validator(self.config, self.data, self.model(), Arithmetic(torch.device("cpu"), "float32"))


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
    sentence_losses = sum_by_sentence(batch, token_losses)

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
    scores = setting.validator().validate().scores
    assert scores["loss"] == pytest.approx(loss, rel=1e-5)
    assert scores["perplexity"] == pytest.approx(math.exp(loss), rel=1e-4)


@pytest.mark.parametrize("name", ["words", "others"])
def test_losses_of_a_source_equal_plain_cross_entropy_over_its_pairs(
    setting: Setting, plain: PlainLosses, name: str
) -> None:
    loss = setting.validator().validate().loss_by_source[name]
    assert loss == pytest.approx(plain.losses[name] / plain.tokens[name], rel=1e-5)


def test_the_sample_is_translated_line_by_line_as_in_an_evaluation(setting: Setting) -> None:
    assert not setting.validator().translator.search.split_sentences


def test_shown_translations_equal_those_of_the_translator(setting: Setting) -> None:
    watched = setting.validator().validate().watched
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
    usual = setting.validator().validate()
    pair_count = setting.data.pair_count("validation")
    words_count = setting.data.corpus.count("validation", "words")
    first_fitting = words_count if request.param == "words" else pair_count
    fitting_numbers = np.arange(first_fitting, pair_count)
    monkeypatch.setattr(PairStore, "usable_by_source", lambda *_: [fitting_numbers])
    return OverLong(validation=setting.validator().validate(), usual=usual)


def test_pairs_that_do_not_fit_into_a_row_are_translated_and_scored(over_long: OverLong) -> None:
    assert over_long.validation.watched == over_long.usual.watched
    assert over_long.validation.scores["chrf"] == over_long.usual.scores["chrf"]


def test_a_source_of_which_no_pair_fits_into_a_row_has_no_loss(over_long: OverLong) -> None:
    assert "words" not in over_long.validation.loss_by_source


def test_a_validation_of_which_no_pair_fits_into_a_row_has_no_loss(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PairStore, "usable_by_source", lambda *_: [])
    assert setting.validator().validate().scores.keys() == {"bleu", "chrf"}
