"""`Translator`: text to text with a trained model; one complete line out per line in, in order."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from translator.config import SearchConfig
from translator.config.corpus_section import PERSIAN
from translator.corpus.normalizer import Normalizer, unify_orthography
from translator.errors import InputError
from translator.inference.alignment import Alignment, AttentionMap, align_words
from translator.inference.latin_words import with_source_spelling
from translator.inference.loops import find_without_loops
from translator.inference.searcher import Check, Searcher
from translator.inference.segments import Segment, Translation, checked_texts, join_segments, one_line, split_text
from translator.run.logging import LOGGER
from translator.search.hypothesis import Hypothesis, Rows, alike, check_count, length_penalty, lengths_of_outputs
from translator.special_tokens import EOS
from translator.subword import SubwordPair
from translator.subword.placeholders import cut_out, hide, is_number, put_back, with_ascii_digits

SOURCE_POSITIONS_AT_ONCE: Final = 16_384
"""Maximum source positions of a batch, each counted once per hypothesis; bounds memory for long lines."""
_SEVERAL_ENDINGS: Final = re.compile(r"([.!?:;؟،؛])[\s.!?:;؟،؛…]*[.!?:;؟،؛…]\s*$")


@dataclass
class Translator:
    """Translates text in the direction of its run. Thread-safe."""

    searcher: Searcher  # the search engine, which holds the model
    subword: SubwordPair
    normalizer: Normalizer  # the rules applied to the training text
    search: SearchConfig
    max_length: int  # maximum source length in tokens, EOS included
    label: str = ""  # name of the run, or of the runs joined by `+`
    checkpoint_name: str = ""  # different names of several checkpoints are joined by `+`
    identity: str = ""  # hash of the weights, if they come from files
    threads: int = 0  # `run.threads` of the run, for the command line; a `Translator` never changes torch's threads
    engine: str = ""  # `torch` or `ctranslate2`, if requested by name

    @classmethod
    def load(
        cls,
        folder: Path | str | Sequence[Path | str],
        *,
        engine: str = "auto",
        checkpoint: str = "best",
        device: str = "auto",
        search: SearchConfig | None = None,
        overrides: Sequence[str] = (),
    ) -> "Translator":
        """Return the translator of a run or of an exported folder, without changing settings of the process.

        Args:
            folder: of the run or the export; several runs form an ensemble with the settings of the first.
            engine: `torch` or `ctranslate2`, which first exports the run into its folder `export`, once per checkpoint.
                `auto` selects CTranslate2 on a CPU if it supports the request; otherwise torch, with the reason logged.
            checkpoint: `best`, `last`, `averaged` or a step number, the same for each run; an export has only one.
            device: `cpu`, `mps`, `cuda` or `cuda:N`; `auto` uses the run's, or the CPU if that GPU is missing.
            search: replaces the run's search settings.
            overrides: `key.path=value` for settings that may change after training.

        Raises:
            RunError: a folder is no run or export, or is damaged, or is for Hugging Face; the runs cannot be combined.
            ConfigError: an override or the device is invalid, or the device does not support the precision.
            InputError: the engine cannot use this folder, or is not installed.
        """
        from translator.inference.engine import load_translator

        folders = [folder] if isinstance(folder, Path | str) else list(folder)
        return load_translator([Path(one) for one in folders], engine, checkpoint, device, search, overrides)

    def translate(self, text: str) -> str:
        """Return the translation of one text, on one line; see `translate_lines`."""
        return self.translate_lines([text])[0]

    def translate_lines(self, texts: Iterable[str]) -> list[str]:
        """Return one line of translation for each text, in order; an empty text stays empty.

        Line breaks inside a text become spaces. A text longer than the model's maximum is translated in segments,
        joined with spaces, with a warning.

        Raises InputError: `texts` is a single text, or an item is not a `str` or has a lone surrogate.
        """
        return [translations[0].text for translations in self.translations(texts, scored=False)]

    def translations(
        self,
        texts: Iterable[str],
        *,
        count: int = 1,
        prefixes: Iterable[str] | None = None,
        attention: bool = False,
        first_line: int = 1,
        check: Check | None = None,
        scored: bool = True,
    ) -> list[list[Translation]]:
        """Return up to `count` translations of each text, best first; with sampling, independent draws.

        An empty text, or one with only copied parts, is its own translation. `join_segments` joins the segments of a
        long text.

        Args:
            texts: in the source language.
            count: translations per text; at most `search.beam_size` with beam search, 1 with greedy search.
            prefixes: for each text, the beginning of its translations in whole words, or an empty text.
            attention: also return attention maps and word alignments.
            first_line: number of the first text, for warnings and errors.
            check: called before each batch and each decoding step of the torch engine; its exception ends the call.
            scored: False if only texts are needed; scores may then be the engine's approximate search scores.

        Raises:
            ConfigError: the search settings cannot give `count` translations.
            InputError: a text is invalid (see `translate_lines`), a prefix is too long for the model, or the engine
                gives no attention.
        """
        texts = checked_texts(texts, "texts")
        check_count(self.search, count)
        if attention and not self.searcher.gives_attention:
            self.searcher.cross_attention([], [])  # raises before the search starts
        segments = self.segments(texts, first_line)
        beginnings = [""] * len(texts) if prefixes is None else checked_texts(prefixes, "prefixes")
        forced = self._forced(beginnings, segments, first_line)
        found: list[list[Translation]] = [[] for _ in segments]
        for batch in self._batches([len(segment.ids) for segment in segments], count):
            if check is not None:
                check()
            rows = [segments[number].ids for number in batch]
            prefix_rows = None if forced is None else [forced[number] for number in batch]
            hypotheses = self.hypotheses(rows, count, prefix_rows, check, scored=scored)
            for number, of_row in zip(batch, hypotheses, strict=True):
                known = f"{texts[segments[number].line]} {beginnings[segments[number].line]}"
                found[number] = self._decoded(segments[number], of_row, known, attention)
        parts: list[list[list[Translation]]] = [[] for _ in texts]
        for segment, translations in zip(segments, found, strict=True):
            parts[segment.line].append(translations)
        empty = Translation("", 0.0, 0.0, 0, 0, True, Alignment() if attention else None, () if attention else None)
        ranked = self.search.method != "sampling"
        return [
            join_segments(of_text, count, ranked=ranked) if of_text else [replace(empty, text=self._as_it_is(text))]
            for text, of_text in zip(texts, parts, strict=True)
        ]

    def hypotheses(
        self,
        rows: Rows,
        count: int = 1,
        prefixes: Rows | None = None,
        check: Check | None = None,
        *,
        scored: bool = True,
    ) -> list[list[Hypothesis]]:
        """Return up to `count` hypotheses for each row of source ids; see `Searcher.find` and `find_without_loops`."""
        return find_without_loops(self.searcher, self.subword, rows, self.search, count, prefixes, check, scored=scored)

    def score(self, sources: Iterable[str], targets: Iterable[str]) -> list[Translation]:
        """Return each target scored as the translation of its source, by teacher forcing.

        The text of each result is the normalized target that the model sees. `finished` is False if the target exceeds
        the search's length limit. A pair that is too long for the model gets the score minus infinity, with a warning:
        the segments of its two sides cannot be paired.

        Raises InputError: a text is invalid, or the two sides differ in number.
        """
        sources, targets = checked_texts(sources, "sources"), checked_texts(targets, "targets")
        if len(sources) != len(targets):
            raise InputError(f"there are {len(sources)} sources and {len(targets)} targets; give one target for each")
        rows, labels, copied = self._pair_ids(sources, targets)
        found = [
            Translation(
                one_line(text.translate({ord(one): thing for one, thing in of_pair.items()})),
                -math.inf,
                -math.inf,
                len(label) + 1,
                1,
                False,
            )
            for text, label, of_pair in zip(self.subword.target.decode_ids(labels), labels, copied, strict=True)
        ]
        fitting = [number for number in range(len(rows)) if self._fits(rows[number], labels[number])]
        if left_out := len(labels) - len(fitting):
            LOGGER.warning("%d of %d pairs are too long for the model to score", left_out, len(labels))
        for batch in self._batches([max(len(rows[number]), len(labels[number])) for number in fitting]):
            numbers = [fitting[place] for place in batch]
            own = [rows[number] for number in numbers]
            scored = self.searcher.score(own, [labels[number] for number in numbers])
            _, limits = lengths_of_outputs(own, self.search, self.searcher.max_positions)
            for number, one, limit in zip(numbers, scored, limits, strict=True):
                tokens, finished = found[number].tokens, found[number].tokens <= limit
                normalized = one.score / length_penalty(tokens, self.search)
                found[number] = replace(found[number], score=one.score, normalized_score=normalized, finished=finished)
        return found

    def attention(self, text: str) -> AttentionMap:
        """Return the attention map of the translation of `text`, or of its first segment if the text is too long."""
        segment = next(iter(self.segments([text])), Segment(0, [], True, {}))
        return self._attention(segment, self.hypotheses([segment.ids])[0][:1])[0][0]

    def align(self, source: str, target: str) -> Alignment:
        """Return the word alignment of `target`, any translation, to `source`, by the model's attention."""
        (row,), (label,), (copied,) = self._pair_ids(checked_texts([source], "source"), [target])
        if not self._fits(row, label):
            raise InputError(
                f"the texts have {len(row)} and {len(label)} tokens, but the model takes at most {self.max_length - 1} "
                f"and {self.searcher.max_positions - 1}; align sentence by sentence"
            )
        return self._attention(Segment(0, row, True, copied), [Hypothesis(tuple(label), 0.0, 0.0, True)])[0][1]

    def segments(self, texts: Iterable[str], first_line: int = 1) -> list[Segment]:
        """Return the segments of the texts, with their ids; an empty text has none, a long one several."""
        subword, room = self.subword.source, self.max_length - 1
        clean, copied = self._cleaned(checked_texts(texts, "texts"))
        segments: list[Segment] = []
        for line, ids in enumerate(subword.encode(clean)):
            has_words = not copied[line] or any(map(str.isalnum, clean[line]))
            rows = [ids] if ids and has_words else []
            if rows and len(ids) > room:
                parts = split_text(clean[line], lambda parts: [len(part) for part in subword.encode(parts)], room)
                # A single word that does not fit is split between tokens.
                rows = [row[at : at + room] for row in subword.encode(parts) for at in range(0, len(row), room)]
                LOGGER.warning(
                    f"line {first_line + line} has {len(ids)} tokens, more than the {room} that the model takes at "
                    f"once: translated in {len(rows)} segments"
                )
            for number, row in enumerate(rows):
                own = {one: thing for one, thing in copied[line].items() if subword.placeholders[one] in row}
                segments.append(Segment(line, row, number == 0, own))
        return segments

    def _cleaned(self, texts: Sequence[str]) -> tuple[list[str], list[dict[str, str]]]:
        """Return the normalized texts with placeholders for copied parts, and the parts that they replace."""
        # Copied parts are cut out before normalization can change them; then comes `one_line`, as in training.
        cut = [cut_out(text, list(self.subword.source.placeholders)) for text in texts]
        spelt = self.subword.correct_spelling if self.search.correct_spelling else str
        clean = [spelt(one_line(self.normalizer.source(text))) for text, _ in cut]
        return clean, [{one: self._as_in_target(thing) for one, thing in copied.items()} for _, copied in cut]

    def _as_in_target(self, thing: str) -> str:
        if not is_number(thing):
            return thing
        return self.normalizer.target(thing) if self._into_persian else with_ascii_digits(thing)

    @property
    def _into_persian(self) -> bool:
        return self.normalizer.languages[1] == PERSIAN

    def _as_it_is(self, text: str) -> str:
        (clean,), (copied,) = self._cleaned([text])
        return one_line(put_back(clean, copied)).strip()

    def _pair_ids(
        self, sources: Sequence[str], targets: Sequence[str]
    ) -> tuple[list[list[int]], list[list[int]], list[dict[str, str]]]:
        """Return the ids of both sides, and the copied parts that the placeholders of each pair replace."""
        clean, copied = self._cleaned(sources)
        hidden = [hide(target, of_pair) for target, of_pair in zip(targets, copied, strict=True)]
        return self.subword.source.encode(clean), self._target_ids(hidden), copied

    def _target_ids(self, texts: Sequence[str]) -> list[list[int]]:
        return self.subword.target.encode([one_line(self.normalizer.target(text)) for text in texts])

    def _fits(self, row: Sequence[int], label: Sequence[int]) -> bool:
        return len(row) < self.max_length and len(label) < self.searcher.max_positions

    def _batches(self, lengths: Sequence[int], count: int = 1) -> Iterator[list[int]]:
        """Yield the indexes of each batch: similar lengths, longest first, within the bound on positions."""
        width = max(count, self.search.beam_size) if self.search.method == "beam" else count
        at_once = self.searcher.batches_at_once
        most, positions = self.search.batch_size * at_once, SOURCE_POSITIONS_AT_ONCE * at_once
        return alike(lengths, lambda longest: min(most, max(1, positions // ((longest + 1) * width))))

    def _forced(self, prefixes: Sequence[str], segments: Sequence[Segment], first_line: int) -> list[list[int]] | None:
        """Return the forced prefix of each segment: the text's prefix for its first segment, else none."""
        if not any(prefixes):
            return None
        copied = {segment.line: segment.copied for segment in segments if segment.is_first}
        ids = self._target_ids([hide(prefix, copied.get(line, {})) for line, prefix in enumerate(prefixes)])
        room = self.searcher.max_positions - 1
        for line in (segment.line for segment in segments if segment.is_first):
            if len(ids[line]) > room:
                raise InputError(
                    f"the forced prefix of line {first_line + line} has {len(ids[line])} tokens, but the model can "
                    f"take no more than {room} before the end of a sentence; shorten the prefix"
                )
        return [ids[segment.line] if segment.is_first else [] for segment in segments]

    def _decoded(
        self, segment: Segment, hypotheses: Sequence[Hypothesis], known: str, attention: bool
    ) -> list[Translation]:
        """Return the translations; `known` is the text that gives the spelling of Latin words."""
        texts = self.subword.target.decode_ids([one.tokens for one in hypotheses])
        if self._into_persian:
            texts = [with_source_spelling(text, known) for text in texts]
            texts = list(map(unify_orthography, texts)) if self.search.orthography else texts
        if self.search.min_length_ratio > 0:
            texts = [without_second_ending(text, known) for text in texts]
        found = [
            Translation(
                one_line(put_back(text, segment.copied)),
                one.score,
                one.normalized_score,
                len(one.tokens) + one.finished,
                1,
                one.finished,
            )
            for text, one in zip(texts, hypotheses, strict=True)
        ]
        if not attention:
            return found
        looks = zip(found, self._attention(segment, hypotheses), strict=True)
        return [replace(one, alignment=alignment, attention=(seen,)) for one, (seen, alignment) in looks]

    def _attention(self, segment: Segment, hypotheses: Sequence[Hypothesis]) -> list[tuple[AttentionMap, Alignment]]:
        """Return the attention map and the word alignment of each hypothesis of a segment."""
        copied = {token: segment.copied.get(chr(token), "") for token in map(ord, self.subword.source.placeholders)}
        source = [piece.translate(copied) for piece in self.subword.source.pieces_of([*segment.ids, EOS])]
        labels = [[*one.tokens, *[EOS] * one.finished] for one in hypotheses]
        found = []
        weights = self.searcher.cross_attention([segment.ids] * len(labels), labels)
        for one, label, looked in zip(hypotheses, labels, weights, strict=True):
            seen = AttentionMap(source, [one.translate(copied) for one in self.subword.target.pieces_of(label)], looked)
            aligned = align_words(self.subword, segment.ids, one.tokens, looked)
            words = [tuple(word.translate(copied) for word in side) for side in (aligned.source, aligned.target)]
            found.append((seen, Alignment(words[0], words[1], aligned.pairs)))
        return found


def without_second_ending(text: str, source: str) -> str:
    """Return a translation without the extra punctuation that a minimum length forced at its end, as in `. ..`.

    If `source` itself ends in several marks, such as `...`, the text stays unchanged.
    """
    several = source.rstrip().endswith("…") or _SEVERAL_ENDINGS.search(source)
    return text if several else _SEVERAL_ENDINGS.sub(r"\1", text)
