"""SentencePiece models: text to ids and back; one model, and the pair of a run."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import sentencepiece

from translator.core import EOS, PAD, SOS, UNK
from translator.errors import SubwordError
from translator.run.files import storage_errors
from translator.subword.placeholders import PLACEHOLDERS
from translator.subword.spelling import NO_CORRECTION, SpellingCorrector

SOURCE_FILE: Final = "source.model"
TARGET_FILE: Final = "target.model"
JOINT_FILE: Final = "joint.model"
WORDS_FILE: Final = "words.tsv"  # the words of the English training text with their counts
ALL_CORES: Final = -1  # a thread of SentencePiece for each
ERRORS_ONLY: Final = 2  # SentencePiece's log level without progress messages
_NOT_TEXT: Final = frozenset({PAD, SOS, EOS})
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # control characters and all line breaks
_BROKEN: Final = "\ufffd"
_SPACES: Final = re.compile(" +")


def read_file(path: Path) -> bytes:
    """Return the content of a file of subword models; raise SubwordError if it is missing."""
    with storage_errors(path, "read"):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise SubwordError(f"no subword model at {path}; {remedy(path)}") from None


def remedy(path: Path) -> str:
    """Return what a user can do about a missing or damaged file."""
    return f"restore it from a backup, or delete the folder {path.parent} and prepare again"


class SubwordModel:
    """One SentencePiece model: text to ids and back, with PAD, UNK, SOS and EOS at their fixed ids."""

    def __init__(self, content: bytes, path: Path) -> None:
        """Load a model from the bytes of the file at `path`; raise SubwordError if this package cannot use it."""
        sentencepiece.set_min_log_level(ERRORS_ONLY)
        if not content:
            raise SubwordError(f"{path} is empty; {remedy(path)}")
        try:
            processor = sentencepiece.SentencePieceProcessor(model_proto=content)
        except RuntimeError as error:
            raise SubwordError(f"{path} is damaged or not a SentencePiece model; {remedy(path)}") from error
        _check_special_ids(processor, path)
        self._processor = processor
        self.placeholders: dict[str, int] = _placeholders(processor)
        """The placeholder pieces for copied text, with their ids; see `placeholders.py`."""
        self.vocabulary_size: int = processor.get_piece_size()  # pieces, special tokens included
        self.sha256: str = hashlib.sha256(content).hexdigest()  # of the model file

    @classmethod
    def load(cls, path: Path) -> "SubwordModel":
        """Return the model in the file at `path`; raise SubwordError if there is no usable model."""
        return cls(read_file(path), path)

    def encode(self, texts: Sequence[str], threads: int = ALL_CORES) -> list[list[int]]:
        """Return the ids of each text, without special tokens; the number of threads does not affect them."""
        rows: list[list[int]] = self._processor.encode(list(texts), out_type=int, num_threads=threads)
        return rows

    def encode_one(self, text: str) -> list[int]:
        """Return the ids of a text, without special tokens; a list of one text would start threads."""
        row: list[int] = self._processor.encode(text, out_type=int)
        return row

    def decode_ids(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each row of ids, on one line.

        PAD, SOS and EOS are dropped, and so are bytes that are not UTF-8; UNK becomes `⁇`; a control character or line
        break, which only byte pieces can produce, becomes a space. Otherwise decoding the ids of a text gives
        `normalized(text)`, without U+FFFD.
        """
        texts: list[str] = []
        for row in rows:
            text_ids = [int(token) for token in row if token not in _NOT_TEXT]
            # One call per row: a call for a list starts threads, which takes longer than decoding a few hundred rows.
            text = str(self._processor.decode(text_ids)) if text_ids else ""
            if _BROKEN in text:  # SentencePiece writes it for each byte that is not UTF-8
                text = _SPACES.sub(" ", text.replace(_BROKEN, "")).strip(" ")
            texts.append(_CONTROLS.sub(" ", text))
        return texts

    def has_sign(self, sign: str) -> bool:
        """Return whether the vocabulary has pieces for `sign`, not only bytes, UNK or letters in its place (™: tm)."""
        return self.has_pieces(sign) and not any(map(str.isalpha, self.normalized(sign)))

    def has_pieces(self, text: str) -> bool:
        """Return whether the vocabulary has pieces for all of `text`, without bytes and UNK."""
        (ids,) = self.encode([text])
        return UNK not in ids and self.byte_ids.isdisjoint(ids)

    def pieces_of(self, ids: Sequence[int]) -> list[str]:
        """Return the piece of each id; the first piece of a word begins with `▁`, special tokens have their names."""
        return [str(self._processor.id_to_piece(int(token))) for token in ids]

    def normalized(self, text: str) -> str:
        """Return `text` as the model sees it: NFKC; runs of spaces (and of U+2581) as one space, none at the ends.

        With a case-folding source model, the result is in lower case.
        """
        return str(self._processor.normalize(text)).replace("▁", " ").removeprefix(" ")

    @cached_property
    def byte_ids(self) -> frozenset[int]:
        """The ids of the 256 bytes; empty without byte fallback."""
        return frozenset(token for token in range(self.vocabulary_size) if self._processor.is_byte(token))


def _check_special_ids(processor: sentencepiece.SentencePieceProcessor, path: Path) -> None:
    """Raise SubwordError if PAD, UNK, SOS or EOS does not have its id."""
    special_ids = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
    if special_ids != (PAD, UNK, SOS, EOS):
        raise SubwordError(
            f"{path}: pad, unk, bos and eos have the ids {', '.join(map(str, special_ids))}; they must be "
            f"{PAD}, {UNK}, {SOS}, {EOS}: train the model with `translator prepare`"
        )


def _placeholders(processor: sentencepiece.SentencePieceProcessor) -> dict[str, int]:
    """Return the placeholders that a model was trained with, and their ids."""
    ids: dict[str, int] = {}
    for placeholder in PLACEHOLDERS:
        token = int(processor.piece_to_id(placeholder))
        # Only user-defined symbols have the score 0; the same character learned from text is not a placeholder.
        if token != UNK and processor.get_score(token) == 0:
            ids[placeholder] = token
    return ids


# --- the models of a run ---


@dataclass(frozen=True)
class SubwordPair:
    """The models of both sides; the same object if they are joint."""

    source: SubwordModel
    target: SubwordModel
    correct_spelling: SpellingCorrector = NO_CORRECTION

    @property
    def joint(self) -> bool:
        """Whether both sides share one vocabulary."""
        return self.source is self.target

    @property
    def sha256(self) -> dict[str, str]:
        """The SHA-256 of each model by file name, as recorded in checkpoints."""
        if self.joint:
            return {JOINT_FILE: self.source.sha256}
        return {SOURCE_FILE: self.source.sha256, TARGET_FILE: self.target.sha256}

    @classmethod
    def load(cls, folder: Path) -> "SubwordPair":
        """Return the models in `folder`: `joint.model`, or `source.model` and `target.model`.

        Raises SubwordError: a file is missing or damaged.
        """
        if (folder / JOINT_FILE).exists():
            source = target = SubwordModel.load(folder / JOINT_FILE)
        else:
            source = SubwordModel.load(folder / SOURCE_FILE)
            target = SubwordModel.load(folder / TARGET_FILE)
        word_counts = read_word_counts(folder / WORDS_FILE)
        return cls(source=source, target=target, correct_spelling=SpellingCorrector(word_counts))


def read_word_counts(path: Path) -> dict[str, int]:
    """Return the counts in the file `path`; empty if it is missing, and then nothing is corrected.

    Raises SubwordError: the file is damaged.
    """
    if not path.exists():
        return {}
    counts: dict[str, int] = {}
    try:
        for line in read_file(path).decode().splitlines():
            word, count = line.split("\t")
            counts[word] = int(count)
    except ValueError as error:  # not UTF-8, not two cells, or no number
        raise SubwordError(f"{path} is damaged; {remedy(path)}") from error
    return counts
