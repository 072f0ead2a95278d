"""The vocabulary size that suits the training text of all models of a recipe, found by training them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from translator.config import SubwordConfig
from translator.run.logging import LOGGER
from translator.subword.training import VocabularySizeError, training_texts

if TYPE_CHECKING:  # not for loading a model, which should be fast
    from translator.corpus.prepared_corpus import PreparedCorpus

Trainer = Callable[[SubwordConfig], object]
"""Trains one model with the given settings; raises VocabularySizeError if their size does not suit its text."""


def size_error(error: VocabularySizeError, config: SubwordConfig, corpus: "PreparedCorpus") -> VocabularySizeError:
    """Return the problem that `error` states for one model of `config`, with a size that suits all its models."""
    LOGGER.info("looking for a vocabulary size that suits the training text")
    texts = training_texts(config, corpus)
    size = suitable_size(config, [text.train for text in texts])
    if size is not None:
        end = "smallest" if size > config.vocabulary_size else "largest"
        value = "possible value" if len(texts) == 1 else "value that suits both models"
        return VocabularySizeError(
            problem=error.problem, advice=f"the {end} {value} is {size}", suitable={"vocabulary_size": size}
        )

    # The text of one language has fewer pieces than the other has characters. A joint model has room for all.
    joint = config.model_copy(update={"joint": True})
    size = suitable_size(joint, [text.train for text in training_texts(joint, corpus)])
    assert size is not None, "a text has at least as many pieces as characters"
    advice = f"no value suits both models: set subword.joint: true and subword.vocabulary_size: {size}"
    return VocabularySizeError(problem=error.problem, advice=advice, suitable={"joint": True, "vocabulary_size": size})


def suitable_size(config: SubwordConfig, trainers: Sequence[Trainer]) -> int | None:
    """Return the size nearest to `config.vocabulary_size` that suits the texts of all `trainers`; None if none does.

    It trains models until none of them refuses the size, because SentencePiece tells the limit of a text only then.
    """
    size = config.vocabulary_size
    smallest, largest = 0, None
    while True:
        error = _error_of(trainers, config.model_copy(update={"vocabulary_size": size}))
        if error is None:
            return size

        # The limit of the model that refuses is the next size to try.
        limit = error.suitable["vocabulary_size"]
        if limit > size:
            smallest = limit
        else:
            largest = limit
        if largest is not None and largest < smallest:
            return None
        size = limit


def _error_of(trainers: Sequence[Trainer], config: SubwordConfig) -> VocabularySizeError | None:
    for train in trainers:
        try:
            train(config)
        except VocabularySizeError as error:
            return error
    return None
