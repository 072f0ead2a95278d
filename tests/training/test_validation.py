"""A validation gives the losses of all pairs that fit, and the scores of a translated sample."""

import copy
import math
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.support.toy_corpora import letters, write_pairs
from translator.config import Config, parse_config
from translator.core.batch import collate_rows
from translator.core.transformer import Transformer
from translator.data import DataHandler
from translator.inference.engines.torch_searcher import TorchSearcher
from translator.inference.translator import Translator
from translator.training.validation import Validator

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
        write_pairs(folder / "words.tsv", [(word, word) for word in letters(150, seed=1)])
        write_pairs(folder / "others.tsv", [(word, word[::-1]) for word in letters(150, seed=2)])
        self.config: Config = parse_config(RECIPE.format(folder=folder), "recipe.yaml")
        self.data = DataHandler(self.config)
        source, target = self.data.subword.source, self.data.subword.target
        torch.manual_seed(0)
        self._model = Transformer(self.config.model.settings, source.vocabulary_size, target.vocabulary_size)

    def model(self) -> Transformer:
        return copy.deepcopy(self._model)

    def validator(self) -> Validator:
        return Validator(self.config, self.data, self.model(), "float32")


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    return Setting(tmp_path_factory.mktemp("validation"))


@pytest.fixture(autouse=True)
def small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TorchSearcher, "batch_rows", 4)


def test_losses_are_plain_cross_entropy_over_the_pairs_of_each_source_and_of_all(setting: Setting) -> None:
    model = setting.model().eval()
    corpus, subword = setting.data.corpus, setting.data.subword
    losses: dict[str, float] = dict.fromkeys(corpus.names("validation"), 0.0)
    tokens = dict.fromkeys(losses, 0)
    for name in losses:
        for source, target in corpus.pairs("validation", name):
            batch = collate_rows([[(subword.source.encode_one(source), subword.target.encode_one(target))]])
            with torch.no_grad():
                logits = model(batch.source, batch.target_input)
            losses[name] += F.cross_entropy(logits[0], batch.labels[0], reduction="sum").item()
            tokens[name] += batch.target_tokens

    validation = setting.validator().validate()
    assert validation.loss_by_source.keys() == losses.keys()
    for name, loss in validation.loss_by_source.items():
        assert loss == pytest.approx(losses[name] / tokens[name], rel=1e-5)
    mean = sum(losses.values()) / sum(tokens.values())
    assert validation.scores["loss"] == pytest.approx(mean, rel=1e-5)
    assert validation.scores["perplexity"] == pytest.approx(math.exp(mean), rel=1e-4)


def test_shown_translations_equal_those_of_the_translator_line_by_line(setting: Setting) -> None:
    validator = setting.validator()
    watched = validator.validate().watched
    searcher = TorchSearcher([setting.model().eval()], torch.device("cpu"))
    translator = Translator(searcher, setting.data.subword, setting.data.normalizer, setting.config.search, 40)
    assert len(watched) == 3
    for pair in watched:
        assert pair.hypothesis == translator.translate(pair.source)
    assert not validator.translator.search.split_sentences


def test_each_sentence_is_translated_as_one_of_its_own_source(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    validator = setting.validator()
    original = validator.translator.translations
    given: set[tuple[str, str]] = set()

    def translations(texts: list[str], *, origins: list[str], **options: Any) -> Any:
        given.update(zip(texts, origins, strict=True))
        return original(texts, origins=origins, **options)

    monkeypatch.setattr(validator.translator, "translations", translations)
    validator.validate()
    assert {name for _, name in given} == {"words", "others"}
    for source, name in given:
        assert source in setting.data.corpus.lines("validation", name, "en")
