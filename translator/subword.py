"""Subword models: SentencePiece with its own `nfkc` rule, trained, loaded, and used in both directions.

The default rule of SentencePiece, `nmt_nfkc`, turns the Persian half-space (ZWNJ, U+200C) into a space; `nfkc` keeps
it, also inside pieces (`▁می‌کند` can be one piece). `nfkc` leaves Arabic yeh and kaf as they are, and repeated ZWNJ too:
those are the business of the normalizer, which comes before.
"""

import hashlib
import io
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import sentencepiece

from translator.config import SubwordConfig
from translator.corpus.prepare import PreparedCorpus
from translator.errors import SubwordError
from translator.prepared import fingerprint_of, prepared_folder
from translator.progress import progress_bar
from translator.special_tokens import EOS, PAD, SOS, SPECIAL_TOKENS, UNK
from translator.storage import new_folder, storage_errors, write_bytes, write_json

SOURCE_FILE: Final = "source.model"
TARGET_FILE: Final = "target.model"
JOINT_FILE: Final = "joint.model"
RECORD_FILE: Final = "subword.json"

_FORMAT: Final = 1
"""Part of the fingerprint: raise it when training changes, so that older folders are not taken for new ones."""
_TRAINING_THREADS: Final = 4
"""Fixed: the sums of the EM steps depend on how the text is divided among threads, so the machine may not choose."""
_LONGEST_SENTENCE: Final = 100_000
"""Bytes; SentencePiece leaves longer training sentences out."""
_ERRORS_ONLY: Final = 2
_BOUNDARY: Final = "\x1f"
"""Unit separator: tells the trainer, and it alone, that no piece may cross this place."""
_BETWEEN_DIGITS: Final = re.compile(r"(?<=\d)(?=\d)")
_NOT_TEXT: Final = frozenset({PAD, SOS, EOS})
_RULE_PROBE: Final = "\ufefb \u0645\u06cc\u200c\u0631\u0648\u062f"
_RULE_RESULT: Final = "▁\u0644\u0627▁\u0645\u06cc\u200c\u0631\u0648\u062f"
"""A shaped ligature and a ZWNJ, before and after `nfkc`: `nmt_nfkc` fails on the second, `identity` on the first."""


class SubwordModel:
    """One SentencePiece model: text to ids and back, with PAD, UNK, SOS and EOS at their fixed ids."""

    def __init__(self, content: bytes, path: Path) -> None:
        """Take the bytes of the model file at `path`.

        Raises:
            SubwordError: the bytes are no model, are cut short, or the model was made with other special tokens or
                another normalization rule.
        """
        sentencepiece.set_min_log_level(_ERRORS_ONLY)
        remedy = _remedy(path)
        if not content:
            raise SubwordError(f"{path} is empty, it is no subword model; {remedy}")
        try:
            processor = sentencepiece.SentencePieceProcessor(model_proto=content)
        except RuntimeError as error:
            raise SubwordError(f"{path} is damaged or no SentencePiece model; {remedy}") from error
        found = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        if found != (PAD, UNK, SOS, EOS):
            raise SubwordError(
                f"{path}: pad, unk, bos and eos have the ids {', '.join(map(str, found))}; they must be "
                f"{PAD}, {UNK}, {SOS}, {EOS}: train the model with `translator prepare`"
            )
        if processor.normalize(_RULE_PROBE) != _RULE_RESULT:
            raise SubwordError(
                f"{path}: its normalization rule is not `nfkc` (another one loses the half-space U+200C), or the file "
                f"is cut short; {remedy}"
            )
        self._processor = processor
        self.vocabulary_size: int = processor.get_piece_size()
        """Pieces, special tokens included."""
        self.sha256: str = hashlib.sha256(content).hexdigest()
        """Of the model file."""

    @classmethod
    def load(cls, path: Path) -> "SubwordModel":
        """Load the model file at `path`.

        Raises:
            SubwordError: there is no such file, or it is no usable model.
            StorageError: the file may not be read.
        """
        return cls(_read_model(path), path)

    @classmethod
    def train(cls, sentences: Iterable[str], config: SubwordConfig, path: Path) -> "SubwordModel":
        """Train a model on all of `sentences`, write it to `path` in one step, and return it.

        The same sentences and settings give the same bytes, whatever the machine. Digits of every script become
        pieces of their own. See Kudo 2018 §3 (unigram) and Sennrich et al. 2016 §3.2 (bpe).

        Raises:
            SubwordError: there is no text, or `subword.vocabulary_size` is too large or too small for it.
            StorageError: `path` cannot be written.
        """
        content = io.BytesIO()
        reader = _Reader(sentences)
        options: dict[str, Any] = {}
        if config.model_type != "char":  # a character is a piece of its own there, nothing can cross a boundary
            options["pretokenization_delimiter"] = _BOUNDARY
        for spelling, token in SPECIAL_TOKENS:
            kind = {PAD: "pad", UNK: "unk", SOS: "bos", EOS: "eos"}[token]
            options |= {f"{kind}_id": token, f"{kind}_piece": spelling}
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=reader.lines(boundaries=config.model_type != "char"),
                model_writer=content,
                model_type=config.model_type,
                vocab_size=config.vocabulary_size,
                hard_vocab_limit=config.model_type != "char",
                character_coverage=config.character_coverage,
                byte_fallback=config.byte_fallback,
                normalization_rule_name="nfkc",
                split_digits=True,
                unk_surface="\u2047",  # without the spaces around it that SentencePiece would add
                max_sentence_length=_LONGEST_SENTENCE,
                shuffle_input_sentence=False,
                num_threads=_TRAINING_THREADS,
                minloglevel=_ERRORS_ONLY,
                **options,
            )
        except RuntimeError as error:
            if reader.failure is not None:  # SentencePiece turns whatever its reader raises into a RuntimeError
                raise reader.failure from None
            mistake = _explain(str(error), config, path.stem, reader.count)
            if mistake is None:
                raise
            raise mistake from error
        write_bytes(path, content.getvalue())
        return cls(content.getvalue(), path)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, without special tokens."""
        rows: list[list[int]] = self._processor.encode(list(texts), out_type=int)
        return rows

    def decode_ids(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each row of ids; PAD, SOS and EOS are dropped, UNK becomes `⁇`."""
        kept = [[int(token) for token in row if token not in _NOT_TEXT] for row in rows]
        texts: list[str] = self._processor.decode(kept)
        return texts

    def pieces_of(self, ids: Sequence[int]) -> list[str]:
        """Return the piece behind each id, a word's first one marked with `▁`, special tokens by their spelling."""
        return [str(self._processor.id_to_piece(int(token))) for token in ids]


@dataclass(frozen=True)
class SubwordPair:
    """The models of both sides; one and the same object when they are joint."""

    source: SubwordModel
    target: SubwordModel

    @property
    def joint(self) -> bool:
        """Whether both sides share one vocabulary."""
        return self.source is self.target

    @property
    def sha256(self) -> dict[str, str]:
        """The hash of each model by file name, as checkpoints record it."""
        if self.joint:
            return {JOINT_FILE: self.source.sha256}
        return {SOURCE_FILE: self.source.sha256, TARGET_FILE: self.target.sha256}

    @classmethod
    def load(cls, folder: Path) -> "SubwordPair":
        """Load `joint.model`, or `source.model` and `target.model`; `subword.json`, if there, must agree with them.

        Raises:
            SubwordError: a file is missing, damaged, or not the one that was trained.
        """
        if (folder / JOINT_FILE).exists():
            joint = SubwordModel.load(folder / JOINT_FILE)
            pair = cls(joint, joint)
        else:
            pair = cls(SubwordModel.load(folder / SOURCE_FILE), SubwordModel.load(folder / TARGET_FILE))
        if (folder / RECORD_FILE).exists():
            expected = _read_record(folder / RECORD_FILE)
            for file, sha256 in pair.sha256.items():
                if expected.get(file) != sha256:
                    raise SubwordError(
                        f"{folder / file} is not the model that was trained (its SHA-256 differs from "
                        f"{RECORD_FILE}); {_remedy(folder / file)}"
                    )
        return pair


def prepare_subword(
    config: SubwordConfig, corpus: PreparedCorpus, prepared_directory: Path
) -> tuple[SubwordPair, Path]:
    """Train the models on the training split, or load those trained before from the same text with the same settings.

    Returns:
        The models, and their folder `<prepared_directory>/subword-<16 hex>`.

    Raises:
        SubwordError: the text does not allow the settings, or the folder is damaged.
        StorageError: the folder cannot be written, or the prepared text is damaged.
    """
    made_from = {
        "format": _FORMAT,
        "sentencepiece": sentencepiece.__version__,
        "corpus": corpus.fingerprint,
        "settings": config.model_dump(mode="json"),
    }
    folder = prepared_folder(prepared_directory, "subword", fingerprint_of(made_from))
    if not folder.exists():
        with new_folder(folder) as beside:
            sides: dict[str, tuple[Literal["en", "fa"], ...]]
            sides = {JOINT_FILE: ("en", "fa")} if config.joint else {SOURCE_FILE: ("en",), TARGET_FILE: ("fa",)}
            sha256 = {}
            for file, languages in sides.items():
                text = _training_text(corpus, languages, config.max_training_sentences)
                sha256[file] = SubwordModel.train(text, config, beside / file).sha256
            write_json(beside / RECORD_FILE, {**made_from, "sha256": sha256})
    return SubwordPair.load(folder), folder


def _training_text(corpus: PreparedCorpus, languages: Sequence[Literal["en", "fa"]], limit: int) -> Iterator[str]:
    """Yield at most `limit` lines of the training split, spread evenly over all sources."""
    names = corpus.names("train")
    total = len(languages) * sum(corpus.count("train", name) for name in names)
    lines = itertools.chain.from_iterable(corpus.lines("train", name, side) for side in languages for name in names)
    share = min(limit, total)
    description = f"Subword text ({' + '.join(languages)})"
    for number, line in enumerate(progress_bar(lines, description=description, total=total, unit=" lines")):
        if (number + 1) * share // total > number * share // total:
            yield line


class _Reader:
    """Feeds the trainer, and keeps what goes wrong on the way: SentencePiece would only pass its text on."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self._sentences = sentences
        self.failure: BaseException | None = None
        self.count = 0

    def lines(self, boundaries: bool) -> Iterator[str]:
        try:
            for sentence in self._sentences:
                self.count += 1
                # `split_digits` knows ASCII digits only; a boundary keeps Persian ones apart too.
                yield _BETWEEN_DIGITS.sub(_BOUNDARY, sentence) if boundaries else sentence
        except BaseException as error:
            self.failure = error
            raise


def _explain(message: str, config: SubwordConfig, name: str, sentences: int) -> SubwordError | None:
    """Return the user's mistake behind what SentencePiece says when training fails; None if it is not a known one."""
    size = f"subword.vocabulary_size: {config.vocabulary_size}"
    if too_large := re.search(r"set it to a value <= (\d+)", message):
        return SubwordError(
            f"{size} is more than the training text allows for the {name} model ({sentences:,} sentences); "
            f"the largest possible value is {too_large[1]}"
        )
    if too_small := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return SubwordError(
            f"{size} is too small for the {name} model: its characters alone need {too_small[1]} pieces; "
            f"raise it to more than that, or lower subword.character_coverage"
        )
    if "sentences_.empty()" in message:
        return SubwordError(f"there is no text to train the {name} subword model on; look at the corpus report")
    return None


def _read_model(path: Path) -> bytes:
    """Return the bytes of a model file."""
    with storage_errors(path, "read"):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise SubwordError(f"no subword model at {path}; {_remedy(path)}") from None


def _remedy(path: Path) -> str:
    """Return what to do about a damaged file of a subword folder."""
    return f"take it from a backup, or delete the folder {path.parent} and prepare again"


def _read_record(path: Path) -> dict[str, str]:
    """Return the hashes that were recorded when the models of a folder were trained."""
    try:
        recorded = json.loads(_read_model(path))["sha256"]
        return {str(file): str(sha256) for file, sha256 in recorded.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SubwordError(f"{path} is damaged; {_remedy(path)}") from error
