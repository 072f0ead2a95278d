"""`Translator`: from text to text with a trained model, as many lines out as in, in order, none of them cut."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from translator.checkpoint import CheckpointState
from translator.config import SearchConfig
from translator.corpus.normalize import Normalizer
from translator.errors import InputError
from translator.inference.attention import Alignment, AttentionMap
from translator.inference.attention_reader import AttentionReader
from translator.inference.batches import plan_batches
from translator.inference.loading import load_runs
from translator.inference.pieces import Piece, SourceCutter, one_line
from translator.inference.searcher import Searcher
from translator.inference.targets import TargetReader
from translator.inference.torch_searcher import TorchSearcher
from translator.inference.translation import EMPTY, Translation, join_pieces
from translator.progress import progress_bar
from translator.search import Hypothesis, check_count
from translator.subword import SubwordPair

if TYPE_CHECKING:
    from tqdm import tqdm


class Translator:
    """Translates English text into Persian; any number of threads may use one at the same time.

    Args:
        searcher: the engine, with the model inside.
        subword: the models that cut its two languages.
        normalizer: the rules its training text went through.
        search: how a translation is picked.
        max_length: longest source of the model in tokens, EOS included.
        checkpoint: what the model's checkpoint says of itself, where it comes from one; of an ensemble, the first's.
        name: of the run, or of the runs joined by `+`.
        checkpoint_name: for scores; by default the checkpoint's own.
        identity: tells the weights from all others, where they come from files.
        on_cpu: whether several processes of one thread each would be faster than this one.
        arithmetic: device and precision of its products, where they are known; another one may give other translations.
    """

    def __init__(
        self,
        searcher: Searcher,
        subword: SubwordPair,
        normalizer: Normalizer,
        search: SearchConfig,
        max_length: int,
        checkpoint: CheckpointState | None = None,
        name: str = "",
        checkpoint_name: str = "",
        identity: str = "",
        on_cpu: bool = False,
        arithmetic: str = "",
    ) -> None:
        self.searcher = searcher
        self.identity = identity
        self.on_cpu = on_cpu
        self.arithmetic = arithmetic
        self.search = search
        self.checkpoint = checkpoint
        self.label = name
        self.checkpoint_name = checkpoint_name or (checkpoint.name if checkpoint is not None else "")
        self._subword = subword
        self._room = max_length - 1  # for EOS
        self._cutter = SourceCutter(subword.source, normalizer, self._room)
        self._targets = TargetReader(searcher, subword.target, normalizer, self._room)

    @classmethod
    def load(
        cls,
        run_folder: Path | str | Sequence[Path | str],
        *,
        checkpoint: str = "best",
        device: str = "auto",
        search: SearchConfig | None = None,
        overrides: Sequence[str] = (),
    ) -> "Translator":
        """Return the translator of a run, with the threads of its training.

        Args:
            run_folder: folder of the run; of several runs an ensemble is made, and the first one's settings hold.
            checkpoint: `best`, `last`, `averaged` or a step number, the same of each run.
            device: `cpu`, `cuda` or `cuda:N`; `auto` takes the run's, or the CPU if that GPU is not there.
            search: in place of the run's own search settings.
            overrides: `key.path=value` for settings that may change after training.

        Raises:
            RunError: there is no run in the folder, it is damaged, or the runs do not fit together.
            ConfigError: an override or the device is wrong, or the device has not the precision that is asked for.
        """
        folders = [run_folder] if isinstance(run_folder, Path | str) else list(run_folder)
        loaded = load_runs(folders, checkpoint=checkpoint, device=device, search=search, overrides=overrides)
        return cls(
            TorchSearcher(loaded.models, loaded.device),
            loaded.subword,
            loaded.normalizer,
            loaded.search,
            loaded.max_length,
            loaded.states[0],
            loaded.name,
            loaded.checkpoint_name,
            loaded.identity,
            loaded.device.type == "cpu",
            loaded.arithmetic,
        )

    def translate(self, text: str) -> str:
        """Return the translation of one text, on one line.

        Args:
            text: an English text; line breaks inside count as spaces.
        """
        return self.translate_lines([text])[0]

    def translate_lines(
        self,
        texts: Sequence[str],
        *,
        first_line: int = 1,
        check: Callable[[], None] | None = None,
        description: str | None = None,
    ) -> list[str]:
        """Return one line of translation for each text, in order; an empty text stays empty.

        A text with line breaks inside counts as one line. A text longer than the model can take is translated in pieces
        that are joined with spaces, with a warning.

        Args:
            texts: English texts.
            first_line: number of the first text, for warnings.
            check: called before each batch, and by our own engine before each step of a search; what it raises ends
                the work.
            description: show a progress bar with this name.
        """
        found = self.translations(texts, first_line=first_line, check=check, description=description)
        return [translations[0].text for translations in found]

    def translations(
        self,
        texts: Sequence[str],
        *,
        count: int = 1,
        prefixes: Sequence[str] | None = None,
        attention: bool = False,
        first_line: int = 1,
        check: Callable[[], None] | None = None,
        description: str | None = None,
    ) -> list[list[Translation]]:
        """Return up to `count` translations of each text, best first; with sampling they are independent draws.

        An empty text has one, which is empty. What holds of a text that is too long for the model is said at
        `Translation` and `join_pieces`.

        Args:
            texts: English texts.
            count: how many of each; with beam search at most `search.beam_size`, with greedy search 1.
            prefixes: for each text the Persian beginning of its translations, whole words; an empty one forces nothing.
            attention: also say where the model looked, and which words belong together by that.
            first_line: number of the first text, for warnings and errors.
            check: called before each batch, and by our own engine before each step of a search; what it raises ends
                the work.
            description: show a progress bar with this name.

        Raises:
            ConfigError: the search settings cannot give so many, or greedy search more than one.
            InputError: a prefix is too long for the model, or the engine does not tell where its model looks.
        """
        check_count(self.search, count)
        reader = AttentionReader(self.searcher, self._subword) if attention else None
        pieces = self._cutter.cut(texts, first_line)
        beginnings = self._beginnings(prefixes, len(texts), pieces, first_line)
        found: list[list[Translation]] = [[] for _ in pieces]
        progress: tqdm[object] | None = None
        if description is not None:
            progress = progress_bar(description=description, total=len(pieces), unit=" lines")
        with progress or contextlib.nullcontext():
            for batch in plan_batches([len(piece.ids) for piece in pieces], self.search, count):
                if check is not None:
                    check()
                rows = [pieces[number].ids for number in batch]
                own = None if beginnings is None else [beginnings[number] for number in batch]
                hypotheses = self.searcher.find(rows, self.search, count, own, check)
                for number, row, of_row in zip(batch, rows, hypotheses, strict=True):
                    found[number] = self._translated(row, of_row, reader)
                if progress is not None:
                    progress.update(len(batch))
        parts: list[list[list[Translation]]] = [[] for _ in texts]
        for piece, translations in zip(pieces, found, strict=True):
            parts[piece.line].append(translations)
        ranked = self.search.method != "sampling"
        empty = replace(EMPTY, alignment=Alignment((), (), ()), attention=()) if attention else EMPTY
        return [join_pieces(of_text, count, ranked=ranked) if of_text else [empty] for of_text in parts]

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[Translation]:
        """Return what the model gives each target as the translation of its source (teacher forcing).

        The text of each is the target as the model sees it; `finished` is False where a search would have been stopped
        before its end. A pair that is too long for the model has the score minus infinity, with a warning: cut in
        pieces, nobody knows which belong together.

        Args:
            sources: English texts.
            targets: Persian texts, one for each.
        """
        assert len(sources) == len(targets)
        return self._targets.score(self._cutter.ids(sources), targets, self.search)

    def attention(self, text: str) -> AttentionMap:
        """Return where the model looks while it translates `text`; of a text that is too long, its first piece.

        Raises:
            InputError: the engine does not tell where its model looks.
        """
        reader = AttentionReader(self.searcher, self._subword)
        pieces = self._cutter.cut([text], 1)
        ids = pieces[0].ids if pieces else []
        return reader.read(ids, self.searcher.find([ids], self.search)[0][:1])[0].map

    def align(self, source: str, target: str) -> Alignment:
        """Return which words of `target` come from which of `source`, as far as the model's attention tells.

        Args:
            source: an English text.
            target: its translation, from wherever.

        Raises:
            InputError: a text is too long for the model, or the engine does not tell where its model looks.
        """
        reader = AttentionReader(self.searcher, self._subword)
        (row,), (label,) = self._cutter.ids([source]), self._targets.ids([target])
        if not self._targets.fits(row, label):
            raise InputError(
                f"the texts have {len(row)} and {len(label)} tokens, and the model can take {self._room} and "
                f"{self.searcher.max_positions - 1}; align sentence by sentence"
            )
        return reader.read(row, [Hypothesis(tuple(label), 0.0, 0.0, True)])[0].alignment

    def _beginnings(
        self, prefixes: Sequence[str] | None, texts: int, pieces: Sequence[Piece], first_line: int
    ) -> list[list[int]] | None:
        """Return the ids that the translations of each piece begin with: those of a text with its first piece.

        Raises:
            InputError: with EOS there are more of them than the model has positions.
        """
        if prefixes is None or not any(prefixes):
            return None
        assert len(prefixes) == texts
        ids = self._targets.ids(prefixes)
        room = self.searcher.max_positions - 1
        for line in (piece.line for piece in pieces if piece.is_first):
            # Here, since the engine knows places in a batch only, and batches are sorted by length.
            if len(ids[line]) > room:
                raise InputError(
                    f"the forced prefix of line {first_line + line} has {len(ids[line])} tokens, but the model can "
                    f"take no more than {room} before the end of a sentence; shorten it"
                )
        return [ids[piece.line] if piece.is_first else [] for piece in pieces]

    def _translated(
        self, row: Sequence[int], hypotheses: Sequence[Hypothesis], reader: AttentionReader | None
    ) -> list[Translation]:
        """Return the translations of a piece from its hypotheses, with what `reader` finds of each."""
        texts = self._subword.target.decode_ids([hypothesis.tokens for hypothesis in hypotheses])
        found = [Translation.of(one_line(text), hypothesis) for text, hypothesis in zip(texts, hypotheses, strict=True)]
        if reader is None:
            return found
        return [
            replace(translation, alignment=look.alignment, attention=(look.map,))
            for translation, look in zip(found, reader.read(row, hypotheses), strict=True)
        ]
