"""Training of one SentencePiece model: the same sentences and settings give the same bytes on every machine.

SentencePiece's default rule, `nmt_nfkc`, turns the Persian half-space (ZWNJ, U+200C) into a space. `nfkc` keeps it,
also inside pieces (`▁می‌کند` can be one piece); so does `nfkc_cf`, which also folds case. The normalizer handles
Arabic yeh and kaf, and repeated ZWNJ.
"""

import io
import itertools
import math
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import sentencepiece

from translator.config import SubwordConfig
from translator.core import EOS, PAD, SOS, SPECIAL_TOKENS, TAG, UNK
from translator.corpus.tags import SOURCE_TAGS
from translator.errors import SubwordError
from translator.run.logging import LOGGER
from translator.subword.model import ERRORS_ONLY
from translator.subword.placeholders import PLACEHOLDERS

if TYPE_CHECKING:  # not for loading a model, which should be fast
    from translator.corpus.prepared_corpus import PreparedCorpus, Side
    from translator.corpus.selecting.split import Split

_TRAINING_THREADS: Final = 4  # fixed: the sums of the EM steps depend on the division of the text among threads
_MOST_SENTENCES: Final = 100_000  # drawn at random, for each model; a joint one takes half from each language
_SEED: Final = 1  # of the draw
_CHARACTER_COVERAGE: Final = 0.9999  # share of the character occurrences in the training text that get pieces
_LONGEST_SENTENCE: Final = 100_000  # bytes; SentencePiece ignores longer training sentences
_ROOM_FOR_BYTES: Final = 1000  # vocabulary size from which byte fallback is the default
_BYTES: Final = 256  # pieces of byte fallback
_BOUNDARY: Final = "\x1f"  # unit separator: no piece crosses it
_BETWEEN_DIGITS: Final = re.compile(r"(?<=\d)(?=\d)")
_KEPT_IF_SEEN: Final = frozenset(TAG + SOURCE_TAGS + "0123456789۰۱۲۳۴۵۶۷۸۹٠١٢٣٤٥٦٧٨٩.,;:!?'\"()[]-/%،؛؟«»٪٫٬–—“”‘’")
"""Digits, basic punctuation and tags: kept if in the text, whatever `_CHARACTER_COVERAGE` says."""


class VocabularySizeError(SubwordError):
    """`subword.vocabulary_size` does not suit the training text."""

    def __init__(self, problem: str, advice: str, suitable: Mapping[str, int]) -> None:
        """Take the two parts of the message, and the settings of `subword` that suit the text."""
        super().__init__(problem, advice, suitable)  # all three, since an error of a worker process is pickled
        self.problem = problem
        self.advice = advice
        self.suitable = suitable

    def __str__(self) -> str:
        return f"{self.problem}; {self.advice}"


def uses_byte_fallback(config: SubwordConfig) -> bool:
    """Return whether models with these settings encode unknown characters as bytes."""
    if config.byte_fallback is None:
        return config.model_type != "char" and config.vocabulary_size >= _ROOM_FOR_BYTES
    return config.byte_fallback


def train_model(sentences: Iterable[str], config: SubwordConfig, name: str, *, fold: bool = False) -> bytes:
    """Return the bytes of a model of all `sentences`; `name` (such as `source`) appears in messages.

    Each digit of any script is a separate piece. With `fold`, the model itself converts text to lower case, so that
    every program that loads it does so. See Kudo 2018 §3 (unigram) and Sennrich et al. 2016 §3.2 (bpe).

    Raises:
        SubwordError: there is no text.
        VocabularySizeError: `subword.vocabulary_size` is too large or too small for it; the error has the nearest size.
    """
    # 1. Read the text. `split_digits` covers only ASCII digits; a boundary also separates Persian ones.
    by_character = config.model_type == "char"
    text: deque[str] = deque()
    required_characters: set[str] = set()
    for sentence in sentences:
        required_characters |= _KEPT_IF_SEEN.intersection(sentence)
        text.append(sentence if by_character else _BETWEEN_DIGITS.sub(_BOUNDARY, sentence))
    sentence_count = len(text)
    failures: list[BaseException] = []

    def released_sentences() -> Iterator[str]:
        """Yield each sentence and release it, since the trainer copies it."""
        try:
            while text:
                yield text.popleft()
        except BaseException as error:
            failures.append(error)
            raise

    # 2. Train on it.
    content = io.BytesIO()
    options = _special_token_options()
    if not by_character:
        options["pretokenization_delimiter"] = _BOUNDARY
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=released_sentences(),
            model_writer=content,
            model_type=config.model_type,
            vocab_size=config.vocabulary_size,
            hard_vocab_limit=not by_character,
            character_coverage=_CHARACTER_COVERAGE,
            required_chars="".join(sorted(required_characters)),
            byte_fallback=uses_byte_fallback(config),
            user_defined_symbols=list(PLACEHOLDERS[: config.placeholders]),
            normalization_rule_name="nfkc_cf" if fold else "nfkc",
            split_digits=True,
            unk_surface="\u2047",  # without the spaces that SentencePiece adds around it
            max_sentence_length=_LONGEST_SENTENCE,
            shuffle_input_sentence=False,
            num_threads=_TRAINING_THREADS,
            minloglevel=ERRORS_ONLY,
            **options,
        )
    except RuntimeError as error:
        if failures:  # an interruption, which SentencePiece converts to a RuntimeError
            raise failures[0] from None
        mistake = _explain(str(error), config, name, sentence_count)
        if mistake is None:
            raise
        raise mistake from error
    return content.getvalue()


def _special_token_options() -> dict[str, Any]:
    """Return the options that give the special tokens their ids and spellings."""
    options: dict[str, Any] = {}
    kinds = {PAD: "pad", UNK: "unk", SOS: "bos", EOS: "eos"}
    for spelling, token in SPECIAL_TOKENS:
        options[f"{kinds[token]}_id"] = token
        options[f"{kinds[token]}_piece"] = spelling
    return options


def _explain(message: str, config: SubwordConfig, name: str, sentences: int) -> SubwordError | None:
    """Return the user's mistake that a message of SentencePiece means, or None for other messages."""
    if "sentences_.empty()" in message:
        return SubwordError(f"there is no text to train the {name} subword model on; look at the corpus report")

    size = f"subword.vocabulary_size: {config.vocabulary_size}"
    too_large = re.search(r"set it to a value <= (\d+)", message)
    if too_large:
        largest = int(too_large[1])
        smaller = config.model_copy(update={"vocabulary_size": largest})
        if uses_byte_fallback(config) and not uses_byte_fallback(smaller):
            largest -= _BYTES  # a model of this size has no byte pieces
        return VocabularySizeError(
            f"{size} is more than the training text allows for the {name} model ({sentences:,} sentences)",
            f"the largest possible value is {largest}",
            {"vocabulary_size": largest},
        )

    smallest = None
    too_small = re.search(r"smaller than required_chars\. \d+ vs (\d+)", message)
    if too_small:
        smallest = int(too_small[1])
    elif "(vocab_size) >= (0)" in message:  # of a `char` model, which leaves out rare characters if it must
        smallest = len(SPECIAL_TOKENS) + config.placeholders + 1
    if smallest is None:
        return None
    return VocabularySizeError(
        f"{size} is too small for the {name} model: its characters and special tokens need {smallest} pieces",
        f"the smallest possible value is {smallest}",
        {"vocabulary_size": smallest},
    )


def draw_lines(corpus: "PreparedCorpus", split: "Split", side: "Side", limit: int, seed: int = _SEED) -> Iterator[str]:
    """Yield at most `limit` lines of one side of `split`, drawn uniformly, in order; reads files to their ends."""
    names = corpus.names(split)
    total = sum(corpus.count(split, name) for name in names)

    # Draw the lines with the smallest random keys; raw bits are the same in every NumPy version.
    is_drawn = np.ones(total, dtype=np.bool_)
    if limit < total:
        random_seed = np.random.SeedSequence([seed, 0 if side == "en" else 1])
        keys = np.random.PCG64(random_seed).random_raw(total)
        is_drawn[np.argpartition(keys, limit)[limit:]] = False

    lines = itertools.chain.from_iterable(corpus.lines(split, name, side) for name in names)
    yield from itertools.compress(lines, is_drawn.tobytes())  # one byte, 0 or 1, per line


@dataclass(frozen=True)
class TrainingText:
    """The text that one model is trained on; picklable."""

    name: str  # of the model: source, target or joint
    corpus: "PreparedCorpus"
    limits: "Mapping[Side, int]"  # sentences of each side, at most
    fold: bool

    def train(self, config: SubwordConfig) -> bytes:
        """Return the bytes of a model with the given settings; raises as `train_model` does."""
        return train_model(self._lines(), config, self.name, fold=self.fold)

    def _lines(self) -> Iterator[str]:
        for side, limit in self.limits.items():
            yield from draw_lines(self.corpus, "train", side, limit)


def training_texts(config: SubwordConfig, corpus: "PreparedCorpus") -> list[TrainingText]:
    """Return the text of each model: one for each language, or one for both if `config.joint`."""
    limit = _MOST_SENTENCES
    if config.joint:
        limits: Mapping[Side, int] = {"en": limit - limit // 2, "fa": limit // 2}
        return [TrainingText(name="joint", corpus=corpus, limits=limits, fold=False)]
    source, target = corpus.sides
    folds_source = config.folds_case and source == "en"
    return [
        TrainingText(name="source", corpus=corpus, limits={source: limit}, fold=folds_source),
        TrainingText(name="target", corpus=corpus, limits={target: limit}, fold=False),
    ]


# --- a vocabulary size that suits the text ---


def size_error(error: VocabularySizeError, config: SubwordConfig, corpus: "PreparedCorpus") -> VocabularySizeError:
    """Return the problem that `error` states for one model of `config`, with a size that suits all its models."""
    LOGGER.info("looking for a vocabulary size that suits the training text")
    texts = training_texts(config, corpus)
    size = _suitable_size(config, texts)
    if size is not None:
        end = "smallest" if size > config.vocabulary_size else "largest"
        value = "possible value" if len(texts) == 1 else "value that suits both models"
        return VocabularySizeError(error.problem, f"the {end} {value} is {size}", {"vocabulary_size": size})

    # The text of one language has fewer pieces than the other has characters. A joint model has room for all.
    joint = config.model_copy(update={"joint": True})
    size = _suitable_size(joint, training_texts(joint, corpus))
    assert size is not None, "a text has at least as many pieces as characters"
    advice = f"no value suits both models: set subword.joint: true and subword.vocabulary_size: {size}"
    return VocabularySizeError(error.problem, advice, {"joint": True, "vocabulary_size": size})


def _suitable_size(config: SubwordConfig, texts: Sequence[TrainingText]) -> int | None:
    """Return the size nearest to `config.vocabulary_size` that suits all `texts`; None if none does.

    It trains models until none of them refuses the size, because SentencePiece tells the limit of a text only then.
    """
    size = config.vocabulary_size
    smallest, largest = 0, math.inf
    while smallest <= largest:
        try:
            for text in texts:
                text.train(config.model_copy(update={"vocabulary_size": size}))
        except VocabularySizeError as error:
            # The limit of the model that refuses is the next size to try.
            limit = error.suitable["vocabulary_size"]
            if limit > size:
                smallest = limit
            else:
                largest = limit
            size = limit
        else:
            return size
    return None
