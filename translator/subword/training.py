"""Training one SentencePiece model: the same sentences and settings give the same bytes, whatever the machine."""

import io
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final

import sentencepiece

from translator.config import SubwordConfig
from translator.errors import SubwordError
from translator.special_tokens import EOS, PAD, SOS, SPECIAL_TOKENS, UNK

ERRORS_ONLY: Final = 2
"""The log level of SentencePiece that leaves its progress out."""

_TRAINING_THREADS: Final = 4
"""Fixed: the sums of the EM steps depend on how the text is divided among threads, so the machine may not choose."""
_LONGEST_SENTENCE: Final = 100_000
"""Bytes; SentencePiece leaves longer training sentences out."""
_ROOM_FOR_BYTES: Final = 1000
"""Pieces from which on the 256 bytes leave most of the vocabulary to text."""
_BOUNDARY: Final = "\x1f"
"""Unit separator: tells the trainer, and it alone, that no piece may cross this place."""
_BETWEEN_DIGITS: Final = re.compile(r"(?<=\d)(?=\d)")
_KEPT_IF_SEEN: Final = frozenset("0123456789۰۱۲۳۴۵۶۷۸۹٠١٢٣٤٥٦٧٨٩.,;:!?'\"()[]-/%،؛؟«»٪٫٬–—“”‘’")
"""Digits and basic punctuation: in the vocabulary however rare, where `character_coverage` would leave them out.

In verses that spell their numbers out, say, all digits together are less than one character in ten thousand.
"""


def uses_byte_fallback(config: SubwordConfig) -> bool:
    """Return whether models of these settings spell unknown characters as bytes."""
    if config.byte_fallback is None:
        return config.model_type != "char" and config.vocabulary_size >= _ROOM_FOR_BYTES
    return config.byte_fallback


def train_model(sentences: Iterable[str], config: SubwordConfig, name: str) -> bytes:
    """Return the bytes of a model of all of `sentences`; `name` (`source`) stands in messages.

    Digits of every script become pieces of their own. See Kudo 2018 §3 (unigram) and Sennrich et al. 2016 §3.2 (bpe).

    Raises:
        SubwordError: there is no text, or `subword.vocabulary_size` is too large or too small for it.
    """
    reader = _Reader(sentences, boundaries=config.model_type != "char")
    options: dict[str, Any] = {}
    if config.model_type != "char":  # a character is a piece of its own there, nothing can cross a boundary
        options["pretokenization_delimiter"] = _BOUNDARY
    for spelling, token in SPECIAL_TOKENS:
        kind = {PAD: "pad", UNK: "unk", SOS: "bos", EOS: "eos"}[token]
        options |= {f"{kind}_id": token, f"{kind}_piece": spelling}
    content = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=reader.lines(),
            model_writer=content,
            model_type=config.model_type,
            vocab_size=config.vocabulary_size,
            hard_vocab_limit=config.model_type != "char",
            character_coverage=config.character_coverage,
            required_chars=reader.required_characters,
            byte_fallback=uses_byte_fallback(config),
            normalization_rule_name="nfkc",
            split_digits=True,
            unk_surface="\u2047",  # without the spaces around it that SentencePiece would add
            max_sentence_length=_LONGEST_SENTENCE,
            shuffle_input_sentence=False,
            num_threads=_TRAINING_THREADS,
            minloglevel=ERRORS_ONLY,
            **options,
        )
    except RuntimeError as error:
        if reader.failure is not None:  # SentencePiece turns whatever its reader raises into a RuntimeError
            raise reader.failure from None
        mistake = _explain(str(error), config, name, reader.count)
        if mistake is None:
            raise
        raise mistake from error
    return content.getvalue()


class _Reader:
    """Holds the text until the trainer has taken it, and keeps what goes wrong meanwhile."""

    def __init__(self, sentences: Iterable[str], *, boundaries: bool) -> None:
        self.failure: BaseException | None = None
        self.count = 0
        self._waiting: deque[str] = deque()
        seen: set[str] = set()
        for sentence in sentences:
            seen |= _KEPT_IF_SEEN.intersection(sentence)
            # `split_digits` knows ASCII digits only; a boundary keeps Persian ones apart too.
            self._waiting.append(_BETWEEN_DIGITS.sub(_BOUNDARY, sentence) if boundaries else sentence)
            self.count += 1
        self.required_characters = "".join(sorted(seen))

    def lines(self) -> Iterator[str]:
        """Yield each sentence once and let go of it: the trainer has a copy of its own."""
        try:
            while self._waiting:
                yield self._waiting.popleft()
        except BaseException as error:
            self.failure = error
            raise


def _explain(message: str, config: SubwordConfig, name: str, sentences: int) -> SubwordError | None:
    """Return the user's mistake behind what SentencePiece says when training fails; None if it is not a known one."""
    size = f"subword.vocabulary_size: {config.vocabulary_size}"
    if too_large := re.search(r"set it to a value <= (\d+)", message):
        largest = int(too_large[1])
        if uses_byte_fallback(config) and not uses_byte_fallback(
            config.model_copy(update={"vocabulary_size": largest})
        ):
            largest -= 256  # so small a model has no bytes
        return SubwordError(
            f"{size} is more than the training text allows for the {name} model ({sentences:,} sentences); "
            f"the largest possible value is {largest}"
        )
    if too_small := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return SubwordError(
            f"{size} is too small for the {name} model: its characters alone need {too_small[1]} pieces; "
            f"raise it to more than that, or lower subword.character_coverage"
        )
    if "sentences_.empty()" in message:
        return SubwordError(f"there is no text to train the {name} subword model on; look at the corpus report")
    return None
