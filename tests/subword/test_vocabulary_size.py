"""A vocabulary size that does not suit the text is refused, and the message names one that suits every model."""

import itertools
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.sentences import ENGLISH, PERSIAN, unigram
from translator.config import SubwordConfig
from translator.subword import VocabularySizeError
from translator.subword.training import size_error, train_model, training_texts


@dataclass(frozen=True)
class Text:
    """A prepared corpus in memory."""

    english: list[str]
    persian: list[str]
    sides: tuple[str, str] = ("en", "fa")

    def names(self, split: str) -> list[str]:
        return ["text"]

    def count(self, split: str, name: str) -> int:
        return len(self.english)

    def lines(self, split: str, name: str, side: str) -> Iterator[str]:
        yield from self.english if side == "en" else self.persian


def train(config: SubwordConfig, text: Any) -> None:
    for part in training_texts(config, text):
        part.train(config)


def refusal(config: SubwordConfig, text: Any) -> VocabularySizeError | None:
    """Return the error that a user sees, or None if the models can be trained."""
    try:
        train(config, text)
    except VocabularySizeError as error:
        return size_error(error, config, text)
    return None


def sentences(letters: str) -> st.SearchStrategy[list[str]]:
    word = st.text(letters, min_size=1, max_size=6)
    sentence = st.lists(word, min_size=1, max_size=8).map(" ".join)
    return st.lists(sentence, min_size=1, max_size=30)


@settings(max_examples=25, deadline=None)
@given(
    english=sentences("abcdefghij XYZ.,5"),
    persian=sentences("ابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهی ۵؟\u200c"),
    size=st.one_of(st.integers(8, 200), st.integers(262, 3000)),
    model_type=st.sampled_from(["unigram", "bpe", "char"]),
    placeholders=st.sampled_from([0, 8, 16]),
    joint=st.booleans(),
    byte_fallback=st.sampled_from([None, True, False]),
)
def test_settings_that_the_message_names_train_all_models(
    english: list[str],
    persian: list[str],
    size: int,
    model_type: Literal["unigram", "bpe", "char"],
    placeholders: int,
    joint: bool,
    byte_fallback: bool | None,
) -> None:
    config = SubwordConfig(
        model_type=model_type,
        vocabulary_size=size,
        placeholders=placeholders,
        joint=joint,
        byte_fallback=byte_fallback and model_type != "char" and size > 260,
    )
    count = min(len(english), len(persian))
    text = Text(english[:count], persian[:count])
    error = refusal(config, text)
    if error is not None:
        train(config.model_copy(update=error.suitable), text)
        assert str(error).endswith(f" {error.suitable['vocabulary_size']}")
        assert ("subword.joint" in str(error)) is ("joint" in error.suitable)


RICH_ENGLISH = list(map(" ".join, itertools.product(ENGLISH, ENGLISH[0].split())))
RICH_PERSIAN = list(map(" ".join, itertools.product(PERSIAN, PERSIAN[0].split())))


def limit_of(size: int, text: list[str]) -> int:
    """Return the value that the trainer of a single model names."""
    with pytest.raises(VocabularySizeError) as caught:
        train_model(text, unigram(vocabulary_size=size), "single")
    return caught.value.suitable["vocabulary_size"]


def test_the_message_names_the_smaller_limit_of_two_texts() -> None:
    english_limit = limit_of(5000, [line.lower() for line in RICH_ENGLISH])
    persian_limit = limit_of(5000, PERSIAN)
    assert english_limit > persian_limit
    error = refusal(unigram(vocabulary_size=5000), Text(RICH_ENGLISH, PERSIAN))
    assert "5000 is more than the training text allows for the source model (72 sentences); " in str(error)
    assert str(error).endswith(f"the largest value that suits both models is {persian_limit}")


def test_the_message_names_the_larger_need_of_two_texts() -> None:
    english_need = limit_of(10, [line.lower() for line in RICH_ENGLISH])
    persian_need = limit_of(10, PERSIAN)
    assert english_need < persian_need
    error = refusal(unigram(vocabulary_size=10), Text(RICH_ENGLISH, PERSIAN))
    assert str(error).endswith(f"the smallest value that suits both models is {persian_need}")


@pytest.mark.parametrize("sides", [(ENGLISH[:1], RICH_PERSIAN), (RICH_ENGLISH, PERSIAN[2:3])])
def test_a_joint_model_is_advised_if_one_text_has_fewer_pieces_than_the_other_has_characters(
    sides: tuple[list[str], list[str]],
) -> None:
    error = refusal(unigram(vocabulary_size=5000), Text(*sides))
    assert "no value suits both models: set subword.joint: true and subword.vocabulary_size: " in str(error)


def test_a_char_model_needs_room_for_a_character() -> None:
    with pytest.raises(VocabularySizeError, match=r"11 is too small .* the smallest possible value is 13$"):
        train_model(ENGLISH, unigram(model_type="char", placeholders=8, vocabulary_size=11), "source")


def test_the_error_survives_the_way_from_a_worker_process() -> None:
    error = VocabularySizeError("5 is too small", "the smallest value is 7", {"vocabulary_size": 7})
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert (str(copy), copy.suitable) == ("5 is too small; the smallest value is 7", {"vocabulary_size": 7})
