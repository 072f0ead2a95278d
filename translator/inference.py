"""From text to text with a trained model: as many lines out as in, in order, none of them cut."""

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from translator.checkpoint import CheckpointState, load_model
from translator.config import SearchConfig
from translator.corpus.normalize import Normalizer
from translator.data import collate_source
from translator.device import choose_device, use_threads
from translator.errors import CheckpointError, ConfigError
from translator.model import Transformer
from translator.progress import progress_bar
from translator.run_folder import RunFolder
from translator.search import Hypothesis
from translator.search import search as search_hypotheses
from translator.segment import split_text
from translator.special_tokens import EOS, SOS
from translator.subword import SubwordPair

if TYPE_CHECKING:
    from tqdm import tqdm

LOGGER = logging.getLogger("translator")

POSITIONS_AT_ONCE = 16_384
"""Source positions of a batch at most, each counted once per hypothesis, so that long lines do not fill the memory."""


class _Piece(NamedTuple):
    """A line, or a part of one that is too long."""

    line: int
    ids: list[int]


class AttentionMap(NamedTuple):
    """Where the decoder looked while it produced each target piece."""

    source: list[str]
    target: list[str]
    weights: npt.NDArray[np.float32]
    """(T, S) cross-attention of the last layer, averaged over its heads; each row sums to 1."""


class Translator:
    """Translates English text into Persian with one model.

    Args:
        model: the network; it is used in evaluation mode and left in the mode it was in.
        subword: the models that cut its two languages.
        normalizer: the rules its training text went through.
        search: how a translation is picked.
        max_length: longest source of the model in tokens, EOS included.
        device: where the model is.
        checkpoint: what the model's checkpoint says of itself, where it comes from one.
    """

    def __init__(
        self,
        model: Transformer,
        subword: SubwordPair,
        normalizer: Normalizer,
        search: SearchConfig,
        max_length: int,
        device: torch.device,
        checkpoint: CheckpointState | None = None,
    ) -> None:
        self.checkpoint = checkpoint
        self._model = model
        self._subword = subword
        self._normalizer = normalizer
        self._search = search
        self._room = max_length - 1  # for EOS
        self._device = device

    @classmethod
    def load(
        cls,
        run_folder: Path | str,
        *,
        checkpoint: str = "best",
        device: str = "auto",
        search: SearchConfig | None = None,
        overrides: Sequence[str] = (),
    ) -> "Translator":
        """Return the translator of a run, computing as its training did (threads, rounding of matrix products).

        Args:
            run_folder: folder of the run.
            checkpoint: `best`, `last` or a step number.
            device: `cpu`, `cuda` or `cuda:N`; `auto` takes the run's, or the CPU if that GPU is not there.
            search: in place of the run's own search settings.
            overrides: `key.path=value` for settings that may change after training.

        Raises:
            RunError: there is no run in the folder, or it is damaged.
            ConfigError: an override or the device is wrong.
        """
        run = RunFolder.open(run_folder)
        config = run.config(overrides)
        chosen = _own_or_cpu(config.run.device) if device == "auto" else choose_device(device)
        model, state = load_model(run.checkpoints_folder, checkpoint, chosen)
        subword = SubwordPair.load(run.subword_folder)
        if subword.sha256 != state.subword:
            raise CheckpointError(
                f"the subword models in {run.subword_folder} are not those that checkpoint `{checkpoint}` was trained "
                "with (checksums differ); restore the whole run folder from a copy"
            )
        rules = config.corpus.normalization.model_dump(mode="json")
        if state.normalization and state.normalization != rules:
            changed = sorted(key for key in rules if rules[key] != state.normalization.get(key))
            raise CheckpointError(
                f"corpus.normalization in {run.config_file} is not what checkpoint `{checkpoint}` was trained with "
                f"({', '.join(changed)}); restore the file from a copy"
            )
        use_threads(config.run.threads)
        torch.set_float32_matmul_precision(config.training.matmul_precision)
        normalizer = Normalizer(config.corpus.normalization)
        return cls(model, subword, normalizer, search or config.search, config.batching.max_length, chosen, state)

    def translate(self, text: str) -> str:
        """Return the translation of one text, on one line."""
        return self.translate_lines([text])[0]

    def translate_lines(
        self,
        texts: Sequence[str],
        *,
        first_line: int = 1,
        between_batches: Callable[[], None] | None = None,
        description: str | None = None,
    ) -> list[str]:
        """Return one line of translation for each text, in order; an empty text stays empty.

        A text with line breaks inside counts as one line. A text longer than the model can take is translated in pieces
        that are joined with spaces, with a warning.

        Args:
            texts: English texts.
            first_line: number of the first text, for warnings.
            between_batches: called before each batch; what it raises ends the work.
            description: show a progress bar with this name.
        """
        pieces = self._cut(texts, first_line)
        hypotheses = [""] * len(pieces)
        progress: tqdm[object] | None = None
        if description is not None:
            progress = progress_bar(description=description, total=len(pieces), unit=" lines")
        with self._evaluation_mode(), progress or contextlib.nullcontext():
            for batch in self._plan([len(piece.ids) for piece in pieces]):
                if between_batches is not None:
                    between_batches()
                found = [hypothesis.tokens for hypothesis in self._find([pieces[number].ids for number in batch])]
                for number, text in zip(batch, self._subword.target.decode_ids(found), strict=True):
                    hypotheses[number] = _one_line(text)
                if progress is not None:
                    progress.update(len(batch))
        lines: list[list[str]] = [[] for _ in texts]
        for piece, hypothesis in zip(pieces, hypotheses, strict=True):
            lines[piece.line].append(hypothesis)
        return [" ".join(part for part in parts if part) for parts in lines]

    def attention(self, text: str) -> AttentionMap:
        """Return where the model looks while it translates `text`; of a text that is too long, its first piece."""
        pieces = self._cut([text], 1)
        source_ids = pieces[0].ids if pieces else []
        with self._evaluation_mode():
            hypothesis = self._find([source_ids])[0]
            target_ids = [*hypothesis.tokens, EOS] if hypothesis.finished else [*hypothesis.tokens]
            source = collate_source([source_ids]).to(self._device)  # (1, S)
            target_input = torch.tensor([[SOS, *target_ids[:-1]]], device=self._device)  # (1, T)
            cross = self._model.attention(source, target_input).cross[-1]  # (1, H, T, S)
        weights = cross[0].mean(dim=0).float().cpu().numpy()
        source_pieces = self._subword.source.pieces_of([*source_ids, EOS])
        return AttentionMap(source_pieces, self._subword.target.pieces_of(target_ids), weights)

    def _cut(self, texts: Sequence[str], first_line: int) -> list[_Piece]:
        """Return the token ids of all texts, those that are too long in several pieces, empty ones in none."""
        # Line breaks come last: some are part of what the normalizer repairs, and training text has gone this way.
        clean = [_one_line(self._normalizer.source(_encodable(text))) for text in texts]
        pieces = []
        for line, ids in enumerate(self._subword.source.encode(clean)):
            if len(ids) <= self._room:
                parts = [ids] if ids else []
            else:
                parts = self._cut_long(clean[line])
                LOGGER.warning(
                    "line %d has %d tokens, more than the %d that the model can take at once: translated in %d pieces",
                    first_line + line,
                    len(ids),
                    self._room,
                    len(parts),
                )
            pieces += [_Piece(line, part) for part in parts]
        return pieces

    def _cut_long(self, text: str) -> list[list[int]]:
        """Return the token ids of `text` in pieces that the model can take; a single word is cut between tokens."""
        encode = self._subword.source.encode
        texts = split_text(text, lambda part: len(encode([part])[0]) <= self._room)
        return [ids[i : i + self._room] for ids in encode(texts) for i in range(0, len(ids), self._room)]

    def _plan(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Yield the numbers of the pieces of each batch: alike in length, the longest first, bounded in positions."""
        width = self._search.beam_size if self._search.method == "beam" else 1
        order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
        start = 0
        while start < len(order):
            longest = lengths[order[start]] + 1  # EOS
            count = min(self._search.batch_size, max(1, POSITIONS_AT_ONCE // (longest * width)))
            yield order[start : start + count]
            start += count

    def _find(self, rows: Sequence[list[int]]) -> list[Hypothesis]:
        """Return the best hypothesis for each row of source tokens."""
        return search_hypotheses(self._model, collate_source(rows).to(self._device), self._search)

    @contextlib.contextmanager
    def _evaluation_mode(self) -> Iterator[None]:
        """Switch dropout and gradients off inside the block."""
        training = self._model.training
        self._model.eval()
        try:
            with torch.inference_mode():
                yield
        finally:
            self._model.train(training)


def _own_or_cpu(name: str) -> torch.device:
    """Return the device that a run was trained on, or the CPU on a machine that has no such GPU."""
    try:
        return choose_device(name)
    except ConfigError:
        return torch.device("cpu")


def _one_line(text: str) -> str:
    """Return `text` with a space for each kind of line break."""
    return " ".join(text.splitlines())


def _encodable(text: str) -> str:
    """Return `text` with a mark for what is no character (lone surrogates)."""
    return text.encode("utf-8", "replace").decode("utf-8")
