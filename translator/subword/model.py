"""One subword model: text to ids and back."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

import sentencepiece

from translator.config import SubwordConfig
from translator.errors import SubwordError
from translator.special_tokens import EOS, PAD, SOS, SPECIAL_TOKENS, UNK
from translator.storage import storage_errors, write_bytes
from translator.subword.sampling import SubwordSampler
from translator.subword.training import ERRORS_ONLY, train_model

_NOT_TEXT: Final = frozenset({PAD, SOS, EOS})
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Control characters, and all at which a line could end."""
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
        sentencepiece.set_min_log_level(ERRORS_ONLY)
        remedy = remedy_for(path)
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
        self._sampler: tuple[float, SubwordSampler] | None = None
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
        return cls(read_model(path), path)

    @classmethod
    def train(cls, sentences: Iterable[str], config: SubwordConfig, path: Path) -> "SubwordModel":
        """Train a model on all of `sentences`, write it to `path` in one step, and return it.

        Raises:
            SubwordError: there is no text, or `subword.vocabulary_size` is too large or too small for it.
            StorageError: `path` cannot be written.
        """
        content = train_model(sentences, config, path.stem)
        write_bytes(path, content)
        return cls(content, path)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, without special tokens."""
        rows: list[list[int]] = self._processor.encode(list(texts), out_type=int)
        return rows

    def sample(self, texts: Sequence[str], strength: float, seed: int) -> list[list[int]]:
        """Return the ids of one random segmentation of each text, without special tokens; of unigram or BPE models.

        The same texts in the same order, strength and seed give the same ids, at every call, in every thread and
        process.

        Args:
            texts: as for `encode`.
            strength: between 0 and 1; the smoothing of unigram sampling (Kudo 2018 §3, the smaller the wilder), or the
                dropout probability of BPE merges (Provilkov et al. 2020).
            seed: at least 0.
        """
        assert 0 < strength < 1
        if self._sampler is None or self._sampler[0] != strength:
            self._sampler = strength, self._make_sampler(strength)
        sampler = self._sampler[1]
        return sampler.sample([self._processor.normalize(text) for text in texts], seed)

    def _make_sampler(self, strength: float) -> SubwordSampler:
        pieces = {piece: (token, float(self._processor.get_score(token))) for token, piece in self.text_pieces.items()}
        return SubwordSampler(pieces, sorted(self.byte_ids), strength)

    def decode_ids(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each row of ids, on one line.

        PAD, SOS and EOS are dropped, UNK becomes `⁇`, a byte that is no part of a character becomes U+FFFD, and a
        control character or line break, which only bytes can spell, becomes a space. Where nothing is unknown,
        decoding what was encoded gives the text as `normalized` does, but for those.
        """
        kept = [[int(token) for token in row if token not in _NOT_TEXT] for row in rows]
        texts: list[str] = self._processor.decode(kept)
        return [_CONTROLS.sub(" ", text) for text in texts]

    def pieces_of(self, ids: Sequence[int]) -> list[str]:
        """Return the piece behind each id, a word's first one marked with `▁`, special tokens by their spelling."""
        return [str(self._processor.id_to_piece(int(token))) for token in ids]

    def normalized(self, text: str) -> str:
        """Return `text` as the model sees it: in NFKC, runs of spaces as one, none at the ends.

        The NFKC of SentencePiece is made of single characters and their sequences by a Unicode version of its own, and
        it takes `▁` (U+2581), its mark of a space, for one.
        """
        return str(self._processor.normalize(text)).replace("▁", " ").removeprefix(" ")

    @cached_property
    def byte_ids(self) -> frozenset[int]:
        """The ids of the 256 bytes; empty without byte fallback."""
        return frozenset(token for token in range(self.vocabulary_size) if self._processor.is_byte(token))

    @cached_property
    def text_pieces(self) -> dict[int, str]:
        """All pieces made of text, by id: neither special tokens nor bytes."""
        special = {token for _, token in SPECIAL_TOKENS}
        ids = [token for token in range(self.vocabulary_size) if token not in special | self.byte_ids]
        return dict(zip(ids, self.pieces_of(ids), strict=True))


def read_model(path: Path) -> bytes:
    """Return the bytes of a file of a subword folder.

    Raises:
        SubwordError: there is no such file.
        StorageError: the file may not be read.
    """
    with storage_errors(path, "read"):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise SubwordError(f"no subword model at {path}; {remedy_for(path)}") from None


def remedy_for(path: Path) -> str:
    """Return what to do about a damaged file of a subword folder."""
    return f"take it from a backup, or delete the folder {path.parent} and prepare again"
