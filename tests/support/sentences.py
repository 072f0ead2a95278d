"""A few sentences to train subword models on, and a corpus of them."""

from collections.abc import Iterable
from pathlib import Path

from tests.support.toy_corpora import write_pairs
from translator.config import CorpusConfig, SourceConfig, SplitConfig, SubwordConfig
from translator.corpus.prepare import prepare_corpus
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.subword import SubwordModel
from translator.subword.training import train_model

PERSIAN = [
    "او نمی‌خواهد کتاب‌های قدیمی را بفروشد.",
    "بچه‌ها در خانه‌ی ما بازی می‌کنند.",
    "من می‌روم و او می‌ماند.",
    "آن‌ها می‌گویند که هوا سردتر شده‌است.",
    "آیا می‌توانی این نامه‌ها را بخوانی؟",
    "سال ۱۳۹۸ و ۲۰۲۴ و ۷۵۶",
    "خواهرم نمی‌داند که کتاب‌هایش کجاست.",
    "می‌خواهم نان بخرم، اما پول ندارم.",
]
ENGLISH = [
    "She does not want to sell the old books.",
    "The children are playing in our house.",
    "I go and he stays.",
    "They say that it has become colder.",
    "Can you read these letters?",
    "The years 1398 and 2024 and 756",
    "My sister does not know where her books are.",
    "I want to buy bread, but I have no money.",
]


def unigram(**changes: object) -> SubwordConfig:
    return SubwordConfig.model_validate({"vocabulary_size": 60, **changes})


def pieces(model: SubwordModel, text: str) -> list[str]:
    return model.pieces_of(model.encode([text])[0])


def vocabulary(model: SubwordModel) -> list[str]:
    return model.pieces_of(range(model.vocabulary_size))


def trained(sentences: Iterable[str], config: SubwordConfig, path: Path, *, fold: bool = False) -> SubwordModel:
    """Train a model on all `sentences`, write it to `path`, and return it."""
    path.write_bytes(train_model(sentences, config, path.stem, fold=fold))
    return SubwordModel.load(path)


def make_corpus(folder: Path) -> PreparedCorpus:
    """Return a corpus of numbered variants of the sentences above, prepared in `folder`."""
    pairs = []
    for number in range(20):
        for english, persian in zip(ENGLISH, PERSIAN, strict=True):
            pairs.append((f"{english} {number}", f"{persian} {number}"))
    path = write_pairs(folder / "pairs.tsv", pairs)
    config = CorpusConfig(
        sources=(SourceConfig(name="pairs", path=str(path)),),
        split=SplitConfig(validation=8, test=8),
        prepared_directory=str(folder / "prepared"),
    )
    return prepare_corpus(config)
