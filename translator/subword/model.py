"""The subword models: text to ids and back; training on prepared text, and reuse of trained models."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import sentencepiece
from pydantic_core import from_json

from translator.config import SubwordConfig
from translator.config.resuming import fingerprint_of
from translator.errors import SubwordError
from translator.run.folder import RunFolder, prepared_folder
from translator.run.logging import progress_bar
from translator.run.storage import new_folder, storage_errors, write_bytes, write_json, write_text
from translator.run.workers import map_in_order
from translator.special_tokens import EOS, PAD, SOS, SPECIAL_TOKENS, UNK
from translator.subword.placeholders import PLACEHOLDERS
from translator.subword.sampling import SubwordSampler
from translator.subword.spelling import SpellingCorrector, count_words
from translator.subword.training import (
    ERRORS_ONLY,
    TrainingText,
    VocabularySizeError,
    train_model,
    training_texts,
    uses_byte_fallback,
)
from translator.subword.vocabulary_size import size_error

if TYPE_CHECKING:  # not for loading a model, which should be fast
    from translator.corpus.prepared_corpus import PreparedCorpus

SOURCE_FILE: Final = "source.model"
TARGET_FILE: Final = "target.model"
JOINT_FILE: Final = "joint.model"
RECORD_FILE: Final = "subword.json"
_WORDS_FILE: Final = "words.tsv"  # the words of the English training text with their counts

_FORMAT: Final = 4  # part of the fingerprint; increased when training changes
_NOT_TEXT: Final = frozenset({PAD, SOS, EOS})
_MOST_WORDS: Final = 200_000
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # control characters and all line breaks
_BROKEN: Final = "\ufffd"
_SPACES: Final = re.compile(" +")
_RULE_PROBE: Final = "\ufefb \u0645\u06cc\u200c\u0631\u0648\u062f"
_RULE_RESULT: Final = "▁\u0644\u0627▁\u0645\u06cc\u200c\u0631\u0648\u062f"
"""Text and its result under `nfkc` and `nfkc_cf`. It has a shaped ligature, which `identity` keeps, and a ZWNJ, which
`nmt_nfkc` changes."""


class SubwordModel:
    """One SentencePiece model: text to ids and back, with PAD, UNK, SOS and EOS at their fixed ids."""

    def __init__(self, content: bytes, path: Path) -> None:
        """Load a model from the bytes of the file at `path`; raise SubwordError if this package cannot use it."""
        sentencepiece.set_min_log_level(ERRORS_ONLY)
        remedy = _remedy(path)
        if not content:
            raise SubwordError(f"{path} is empty; {remedy}")
        try:
            processor = sentencepiece.SentencePieceProcessor(model_proto=content)
        except RuntimeError as error:
            raise SubwordError(f"{path} is damaged or not a SentencePiece model; {remedy}") from error
        found = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        if found != (PAD, UNK, SOS, EOS):
            raise SubwordError(
                f"{path}: pad, unk, bos and eos have the ids {', '.join(map(str, found))}; they must be "
                f"{PAD}, {UNK}, {SOS}, {EOS}: train the model with `translator prepare`"
            )
        if processor.normalize(_RULE_PROBE) != _RULE_RESULT:
            raise SubwordError(
                f"{path}: its normalization rule is not `nfkc` or `nfkc_cf` (others lose the half-space U+200C), or "
                f"the file is truncated; {remedy}"
            )
        self._processor = processor
        ids = {one: int(processor.piece_to_id(one)) for one in PLACEHOLDERS}
        # Only user-defined symbols have the score 0; the same character learned from text is not a placeholder.
        known = {one: token for one, token in ids.items() if token != UNK and not processor.get_score(token)}
        self.placeholders: dict[str, int] = known
        """The placeholder pieces for copied text, with their ids; see `placeholders.py`."""
        self.vocabulary_size: int = processor.get_piece_size()  # pieces, special tokens included
        self.sha256: str = hashlib.sha256(content).hexdigest()  # of the model file

    @classmethod
    def load(cls, path: Path) -> "SubwordModel":
        """Return the model in the file at `path`; raise SubwordError if there is no usable model."""
        return cls(_read(path), path)

    @classmethod
    def train(
        cls, sentences: Iterable[str], config: SubwordConfig, path: Path, *, fold: bool = False
    ) -> "SubwordModel":
        """Train a model on all `sentences`, write it atomically to `path`, and return it.

        With `fold`, the model converts all text to lower case.

        Raises SubwordError as `train_model` does.
        """
        content = train_model(sentences, config, path.stem, fold=fold)
        write_bytes(path, content)
        return cls(content, path)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, without special tokens."""
        rows: list[list[int]] = self._processor.encode(list(texts), out_type=int)
        return rows

    def sampler(self, strength: float, seed: str) -> SubwordSampler:
        """Return a sampler of random segmentations of texts; see `SubwordSampler`."""
        pieces = {piece: (token, float(self._processor.get_score(token))) for token, piece in self.text_pieces.items()}
        return SubwordSampler(pieces, sorted(self.byte_ids), strength, seed, self._processor.normalize)

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
            if _BROKEN in text:  # SentencePiece's replacement for each byte that is not UTF-8
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

    @cached_property
    def text_pieces(self) -> dict[int, str]:
        """All text pieces, by id, without special tokens and bytes."""
        special = {token for _, token in SPECIAL_TOKENS}
        ids = [token for token in range(self.vocabulary_size) if token not in special | self.byte_ids]
        return dict(zip(ids, self.pieces_of(ids), strict=True))


@dataclass(frozen=True)
class SubwordPair:
    """The models of both sides; the same object if they are joint."""

    source: SubwordModel
    target: SubwordModel
    correct_spelling: SpellingCorrector = field(default_factory=lambda: SpellingCorrector({}))

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
        """Return `joint.model`, or `source.model` and `target.model`; `subword.json`, if it exists, must match them.

        Raises SubwordError: a file is missing, damaged, or differs from the trained one.
        """
        if (folder / JOINT_FILE).exists():
            source = target = SubwordModel.load(folder / JOINT_FILE)
        else:
            source, target = (SubwordModel.load(folder / file) for file in (SOURCE_FILE, TARGET_FILE))
        pair = cls(source, target, SpellingCorrector(_word_counts(folder / _WORDS_FILE)))
        record = folder / RECORD_FILE
        if record.exists():
            try:
                expected = dict(from_json(_read(record))["sha256"])
            except (ValueError, KeyError, TypeError) as error:
                raise SubwordError(f"{record} is damaged; {_remedy(record)}") from error
            for file, sha256 in pair.sha256.items():
                if expected.get(file) != sha256:
                    raise SubwordError(
                        f"{folder / file} is not the model that was trained (its SHA-256 differs from "
                        f"{RECORD_FILE}); {_remedy(folder / file)}"
                    )
        return pair


def prepare_subword(
    config: SubwordConfig, corpus: "PreparedCorpus", prepared_directory: Path, workers: int = 1
) -> tuple[SubwordPair, Path]:
    """Return the models of a training split and their folder `<prepared_directory>/subword-<16 hex>`.

    They are trained, or loaded if they exist for the same text and settings. Each is trained on at most
    `max_training_sentences` drawn lines. `workers` is the maximum number of processes; it does not affect the models.
    With `models_from`, the models of that run are used, and the words of this text are added to its words.

    Raises:
        VocabularySizeError: `vocabulary_size` does not suit the text; the error has a size that suits all models.
        SubwordError: there is no text, or the folder is damaged.
        RunError: there is no run at `models_from`.
    """
    settings = config.model_dump(mode="json", exclude={"sampling", "case", "models_from"})
    source = corpus.sides[0]
    fold = config.folds_case and source == "en"
    made_from: dict[str, Any] = {
        "format": _FORMAT,
        "sentencepiece": sentencepiece.__version__,
        "corpus": corpus.fingerprint,
        "settings": {**settings, "byte_fallback": uses_byte_fallback(config), "fold": fold},
    }
    if source == "fa":
        made_from["direction"] = "fa-en"
    parent, words = None, Counter[str]()
    if config.models_from is not None:
        parent = RunFolder.open(config.models_from).subword_folder
        words.update(_word_counts(parent / _WORDS_FILE))
        made_from["settings"] = {"models": SubwordPair.load(parent).sha256, "words": fingerprint_of(words)}
    folder = prepared_folder(prepared_directory, "subword", fingerprint_of(made_from))
    if not folder.exists():
        with new_folder(folder) as beside:
            if parent is not None:
                hashes = SubwordPair.load(parent).sha256
                for file in hashes:
                    write_bytes(beside / file, _read(parent / file))
            else:
                try:
                    hashes = _train_all(training_texts(config, corpus), config, beside, workers)
                except VocabularySizeError as error:
                    raise size_error(error, config, corpus) from error
            # Spelling correction is for English only.
            names = corpus.names("train") if source == "en" else []
            words.update(count_words(line for name in names for line in corpus.lines("train", name, "en")))
            kept = sorted(words.items(), key=lambda word: (-word[1], word[0]))[:_MOST_WORDS]
            write_text(beside / _WORDS_FILE, "".join(f"{word}\t{count}\n" for word, count in kept))
            write_json(beside / RECORD_FILE, {**made_from, "sha256": hashes})
    return SubwordPair.load(folder), folder


def _train_all(texts: Sequence[TrainingText], config: SubwordConfig, folder: Path, workers: int) -> dict[str, str]:
    """Train a model on each text, write it to `folder`, and return the SHA-256 of each file."""
    contents = progress_bar(
        map_in_order(partial(_trainer, config), texts, min(workers, len(texts))),
        description="Training subword models",
        total=len(texts),
        unit=" models",
    )
    hashes = {}
    for text, content in zip(texts, contents, strict=True):
        path = folder / f"{text.name}.model"
        write_bytes(path, content)
        hashes[path.name] = SubwordModel(content, path).sha256
    return hashes


def _trainer(config: SubwordConfig) -> Callable[[TrainingText], bytes]:
    return lambda text: text.train(config)


def _word_counts(path: Path) -> dict[str, int]:
    """Return the counts in a file of words; empty if the file is missing, as in runs of older versions."""
    if not path.exists():
        return {}
    try:
        rows = (line.split("\t") for line in _read(path).decode().splitlines())
        return {word: int(count) for word, count in rows}
    except ValueError as error:
        raise SubwordError(f"{path} is damaged; {_remedy(path)}") from error


def _read(path: Path) -> bytes:
    with storage_errors(path, "read"):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise SubwordError(f"no subword model at {path}; {_remedy(path)}") from None


def _remedy(path: Path) -> str:
    return f"restore it from a backup, or delete the folder {path.parent} and prepare again"
