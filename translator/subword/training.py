"""Training of one SentencePiece model: the same sentences and settings give the same bytes on every machine.

SentencePiece's default rule, `nmt_nfkc`, turns the Persian half-space (ZWNJ, U+200C) into a space. `nfkc` keeps it,
also inside pieces (`▁می‌کند` can be one piece); so does `nfkc_cf`, which also folds case. The normalizer handles
Arabic yeh and kaf, and repeated ZWNJ.
"""

import io
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import sentencepiece

from translator.config import SubwordConfig
from translator.core import EOS, PAD, SOS, SPECIAL_TOKENS, TAG, UNK
from translator.corpus.tags import SOURCE_TAGS
from translator.errors import SubwordError
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
_BOUNDARY: Final = "\x1f"  # unit separator: no piece crosses it
_BETWEEN_DIGITS: Final = re.compile(r"(?<=\d)(?=\d)")
_KEPT_IF_SEEN: Final = frozenset(TAG + SOURCE_TAGS + "0123456789۰۱۲۳۴۵۶۷۸۹٠١٢٣٤٥٦٧٨٩.,;:!?'\"()[]-/%،؛؟«»٪٫٬–—“”‘’")
"""Digits, basic punctuation and tags: kept if in the text, whatever `_CHARACTER_COVERAGE` says."""


def uses_byte_fallback(config: SubwordConfig) -> bool:
    """Return whether models with these settings encode unknown characters as bytes."""
    if config.byte_fallback is None:
        return config.model_type != "char" and config.vocabulary_size >= _ROOM_FOR_BYTES
    return config.byte_fallback


def train_model(sentences: Iterable[str], config: SubwordConfig, name: str, *, fold: bool = False) -> bytes:
    """Return the bytes of a model of all `sentences`; `name` (such as `source`) appears in messages.

    Each digit of any script is a separate piece. With `fold`, the model itself converts text to lower case, so that
    every program that loads it does so. See Kudo 2018 §3 (unigram) and Sennrich et al. 2016 §3.2 (bpe).

    A text with fewer pieces than `subword.vocabulary_size` gives a smaller model.

    Raises SubwordError: there is no text, or `subword.vocabulary_size` is too small for its characters.
    """
    # 1. Read the text. `split_digits` covers only ASCII digits; a boundary also separates Persian ones. A model of
    # characters needs none.
    by_character = config.model_type == "char"
    text: list[str] = []
    required_characters: set[str] = set()
    for sentence in sentences:
        required_characters |= _KEPT_IF_SEEN.intersection(sentence)
        text.append(sentence if by_character else _BETWEEN_DIGITS.sub(_BOUNDARY, sentence))

    # 2. Train on it.
    content = io.BytesIO()
    options = _special_token_options()
    if not by_character:
        options["pretokenization_delimiter"] = _BOUNDARY
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(text),
            model_writer=content,
            model_type=config.model_type,
            vocab_size=config.vocabulary_size,
            hard_vocab_limit=False,
            character_coverage=_CHARACTER_COVERAGE,
            required_chars="".join(sorted(required_characters)),
            byte_fallback=uses_byte_fallback(config),
            user_defined_symbols=list(PLACEHOLDERS[: config.placeholders]),
            normalization_rule_name="nfkc_cf" if fold else "nfkc",
            split_digits=True,
            unk_surface="\u2047",  # by default, SentencePiece has spaces around this sign
            max_sentence_length=_LONGEST_SENTENCE,
            shuffle_input_sentence=False,
            num_threads=_TRAINING_THREADS,
            minloglevel=ERRORS_ONLY,
            **options,
        )
    except RuntimeError as error:
        mistake = _explain(str(error), config, name)
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


def _explain(message: str, config: SubwordConfig, name: str) -> SubwordError | None:
    """Return the user's mistake that a message of SentencePiece means, or None for other messages."""
    if "sentences_.empty()" in message:
        return SubwordError(f"there is no text to train the {name} subword model on; look at the corpus report")

    # If the vocabulary is too small, find the smallest possible size.
    smallest = None
    too_small = re.search(r"smaller than required_chars\. \d+ vs (\d+)", message)
    if too_small:
        smallest = int(too_small[1])
    elif "(vocab_size) >= (0)" in message:
        # Only a `char` model gives this message. It can leave out rare characters, but needs one at least.
        smallest = len(SPECIAL_TOKENS) + config.placeholders + 1
    if smallest is None:
        return None
    return SubwordError(
        f"subword.vocabulary_size: {config.vocabulary_size} is too small for the {name} model; "
        f"the smallest possible value is {smallest}"
    )


def draw_lines(corpus: "PreparedCorpus", split: "Split", side: "Side", limit: int) -> Iterator[str]:
    """Yield at most `limit` lines of one side of `split`, drawn uniformly, in order.

    Files are read to their ends, where `corpus.lines` raises if they are cut off.
    """
    names = corpus.names(split)
    total = sum(corpus.count(split, name) for name in names)

    # 1. Draw the lines with the smallest random keys; raw bits are the same in every NumPy version. Each side has its
    # own draw, so that a joint model learns from more pairs.
    is_drawn = np.ones(total, dtype=np.bool_)
    if limit < total:
        number_of_side = 0 if side == "en" else 1
        generator = np.random.PCG64(np.random.SeedSequence([_SEED, number_of_side]))
        keys = generator.random_raw(total)
        by_key = np.argpartition(keys, limit)  # line numbers; the `limit` smallest keys stand first
        is_drawn[by_key[limit:]] = False

    # 2. Read all lines, and leave out those that are not drawn.
    lines = itertools.chain.from_iterable(corpus.lines(split, name, side) for name in names)
    yield from itertools.compress(lines, is_drawn.tobytes())  # one byte, 0 or 1, per line


def trainer(config: SubwordConfig, corpus: "PreparedCorpus") -> Callable[[str], bytes]:
    """Return the function that trains a model on the training text, by its name: `source`, `target` or `joint`.

    A worker process calls the function, which raises as `train_model` does.
    """
    source, target = corpus.sides
    sides: dict[str, tuple[Side, ...]] = {"source": (source,), "target": (target,), "joint": ("en", "fa")}

    def train(name: str) -> bytes:
        # A joint model takes half of its lines from each language.
        limit = _MOST_SENTENCES // len(sides[name])
        drawn = [draw_lines(corpus, "train", side, limit) for side in sides[name]]
        folds = name == "source" and source == "en" and config.folds_case
        return train_model(itertools.chain.from_iterable(drawn), config, name, fold=folds)

    return train
