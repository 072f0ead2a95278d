"""`Translator`: text to text with a trained model; one complete line out per line in, in order."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from translator.config import SearchConfig
from translator.config.corpus_section import PERSIAN
from translator.corpus.normalizer import Normalizer
from translator.errors import InputError
from translator.inference.alignment import Alignment, AttentionMap, align_words
from translator.inference.latin_words import with_source_spelling
from translator.inference.loops import find_without_loops
from translator.inference.searcher import SOURCE_POSITIONS_AT_ONCE, Check, Searcher
from translator.inference.segments import Segment, Translation, checked_texts, join_segments, split_text
from translator.inference.sentences import Sentence, split_sentences
from translator.inference.untranslated import PartedText, copied_line, is_blank, part_text
from translator.run.logging import LOGGER
from translator.search.batches_by_length import batches_by_length
from translator.search.hypothesis import Hypothesis, Rows, check_count
from translator.search.length_penalty import length_penalty
from translator.search.output_lengths import output_lengths
from translator.special_tokens import EOS
from translator.subword import SubwordPair
from translator.subword.placeholders import hide, put_back
from translator.subword.source_text import SourceReader, SourceText, one_line

_ENDINGS: Final = ".!?:;؟،؛"
# A match begins where a run of marks and spaces does, so that the search takes linear time.
_SEVERAL_ENDINGS: Final = re.compile(rf"(?<![\s{_ENDINGS}…])([\s…]*+[{_ENDINGS}])[\s{_ENDINGS}…]*[{_ENDINGS}…]\s*$")


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
        """Return one line of translation for each text, in order; a text without words comes back as it is.

        With `search.split_sentences`, the sentences of a text are translated one by one, and the white space between
        them stays. A line break ends a sentence, and becomes a space. A sentence longer than the model's maximum is
        translated in segments, joined with spaces, with a warning. A sentence in a script that the source language
        does not use is copied, with a warning.

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

        A text without words is its own translation. `join_segments` joins the translations of sentences and segments.
        An alignment has no words of copied sentences.

        Args:
            texts: in the source language.
            count: translations per text; at most `search.beam_size` with beam search, 1 with greedy search.
            prefixes: for each text, the beginning of its translations in whole words, or an empty text.
            attention: also return attention maps and word alignments.
            first_line: number of the first text, for warnings and errors.
            check: called before each batch and during each search (see `Searcher.find`); its exception ends the call.
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
        segments, between = self._parted(texts, first_line)
        beginnings = [""] * len(texts) if prefixes is None else checked_texts(prefixes, "prefixes")
        forced = self._forced(beginnings, segments, between, first_line)
        found: list[list[Translation]] = [[] for _ in segments]
        for batch in self._batches([len(segment.ids) for segment in segments], count):
            if check is not None:
                check()
            rows = [segments[number].ids for number in batch]
            prefix_rows = None if forced is None else [forced[number] for number in batch]
            hypotheses = self.hypotheses(rows, count, prefix_rows, check, scored=scored)
            for number, of_row in zip(batch, hypotheses, strict=True):
                known = f"{segments[number].source} {beginnings[segments[number].line]}"
                found[number] = self._decoded(segments[number], of_row, known, attention)
        parts: list[list[list[Translation]]] = [[] for _ in texts]
        for segment, translations in zip(segments, found, strict=True):
            parts[segment.line].append(translations)
        empty = Translation("", 0.0, 0.0, 0, 0, True, Alignment() if attention else None, () if attention else None)
        ranked = self.search.method != "sampling"
        results: list[list[Translation]] = []
        for of_text, between_parts in zip(parts, between, strict=True):
            if of_text:
                results.append(join_segments(of_text, between_parts, count, ranked=ranked))
            else:
                results.append([replace(empty, text=between_parts[0])])
        return results

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
            source_lengths = [len(row) + 1 for row in own]  # with EOS
            limits = output_lengths(source_lengths, self.search, self.searcher.max_positions).longest
            for number, one, limit in zip(numbers, scored, limits, strict=True):
                tokens, finished = found[number].tokens, found[number].tokens <= limit
                normalized = one.score / length_penalty(tokens, self.search)
                found[number] = replace(found[number], score=one.score, normalized_score=normalized, finished=finished)
        return found

    def attention(self, text: str) -> AttentionMap:
        """Return the attention map of the translation of `text`, or of its first segment if it has several."""
        segment = next(iter(self.segments([text])), Segment(0, text, [], True, {}))
        return self._attention(segment, self.hypotheses([segment.ids])[0][:1])[0][0]

    def align(self, source: str, target: str) -> Alignment:
        """Return the word alignment of `target`, any translation, to `source`, by the model's attention."""
        (row,), (label,), (copied,) = self._pair_ids(checked_texts([source], "source"), [target])
        if not self._fits(row, label):
            raise InputError(
                f"the texts have {len(row)} and {len(label)} tokens, but the model takes at most {self.max_length - 1} "
                f"and {self.searcher.max_positions - 1}; align sentence by sentence"
            )
        return self._attention(Segment(0, source, row, True, copied), [Hypothesis(tuple(label), 0.0, 0.0, True)])[0][1]

    def segments(self, texts: Iterable[str], first_line: int = 1) -> list[Segment]:
        """Return the segments of the texts, with their ids; a text without words has none."""
        return self._parted(checked_texts(texts, "texts"), first_line)[0]

    def _parted(self, texts: Sequence[str], first_line: int) -> tuple[list[Segment], list[list[str]]]:
        """Return the segments of all texts, and for each text what to copy around them (see `join_segments`)."""
        # 1. Part each text into sentences to translate and text to copy.
        parted_texts = [self._part(text) for text in texts]
        foreign_lines = [line for line, parted in enumerate(parted_texts, first_line) if parted.is_foreign]
        if foreign_lines:
            self._warn_of_foreign_text(foreign_lines)

        # 2. Encode all sentences together, which is faster than one by one.
        sentences = [sentence for parted in parted_texts for sentence in parted.sentences]
        source_texts = self._source_texts(sentences)
        all_ids = self.subword.source.encode([source_text.text for source_text in source_texts])
        encoded = iter(zip(sentences, source_texts, all_ids, strict=True))

        # 3. Split the sentences that are too long. Nothing but copied text is left of one without ids.
        segments: list[Segment] = []
        between: list[list[str]] = []
        for line, parted in enumerate(parted_texts):
            between_rows = [parted.between[0]]
            for following in parted.between[1:]:
                source, source_text, ids = next(encoded)
                rows = self._rows(source_text.text, ids, first_line + line)
                if not rows:
                    between_rows[-1] += copied_line(source)
                for number, row in enumerate(rows):
                    row_parts = {
                        placeholder: part
                        for placeholder, part in source_text.copied.items()
                        if self.subword.source.placeholders[placeholder] in row
                    }
                    is_first = len(between_rows) == 1
                    segments.append(Segment(line, source, row, is_first, row_parts))
                    between_rows.append(" " if number < len(rows) - 1 else "")
                between_rows[-1] += following
            between.append(between_rows)
        return segments, between

    def _part(self, text: str) -> PartedText:
        """Return a text, parted into sentences, or as one line, and what to copy around them."""
        text = text.replace("\ufffd", "")  # a broken character
        if is_blank(text):
            return PartedText(sentences=[], between=[""], is_foreign=False)
        sentences = split_sentences(text) if self.search.split_sentences else [Sentence("", one_line(text).strip())]
        script = self.normalizer.languages[0].script
        parted = part_text(sentences, script, self._reader.unreadable.is_sign, self._reader.with_target_numbers)
        if parted.sentences:
            return parted
        whole = text if parted.is_foreign else self._reader.with_target_numbers(text)
        return replace(parted, between=[copied_line(whole)])

    def _warn_of_foreign_text(self, lines: Sequence[int]) -> None:
        """Warn that sentences of `lines`, given by number, are copied."""
        language = self.normalizer.languages[0]
        shown = ", ".join(map(str, lines[:10])) + (f" and {len(lines) - 10} more" if len(lines) > 10 else "")
        LOGGER.warning(
            f"line{'s' if len(lines) > 1 else ''} {shown}: text that is not in {language.script.capitalize()} letters, "
            f"which the {language.name} side of this model does not know, is copied as it is"
        )

    def _rows(self, clean_text: str, ids: list[int], line: int) -> list[list[int]]:
        """Return the ids of a sentence in rows that fit into the model, with a warning if they are several."""
        room = self.max_length - 1
        if len(ids) <= room:
            return [ids] if ids else []
        encode = self.subword.source.encode
        parts = split_text(clean_text, lambda texts: [len(row) for row in encode(texts)], room)
        rows: list[list[int]] = []
        for row in encode(parts):
            # A single word that does not fit is split between tokens.
            rows += [row[start : start + room] for start in range(0, len(row), room)]
        size = f"a sentence of {len(ids)} tokens" if self.search.split_sentences else f"{len(ids)} tokens"
        LOGGER.warning(
            f"line {line} has {size}, more than the {room} that the model takes at once: translated in {len(rows)} "
            "segments"
        )
        return rows

    @cached_property
    def _reader(self) -> SourceReader:
        return SourceReader(self.subword, self.normalizer)

    def _source_texts(self, texts: Iterable[str]) -> list[SourceText]:
        """Return the source texts as the model sees them."""
        return [self._reader.read(text, correct_spelling=self.search.correct_spelling) for text in texts]

    @property
    def _into_persian(self) -> bool:
        return self.normalizer.languages[1] == PERSIAN

    def _pair_ids(
        self, sources: Sequence[str], targets: Sequence[str]
    ) -> tuple[list[list[int]], list[list[int]], list[dict[str, str]]]:
        """Return the ids of both sides, and the copied parts that the placeholders of each pair replace."""
        source_texts = self._source_texts(sources)
        source_ids = self.subword.source.encode([source_text.text for source_text in source_texts])
        copied = [source_text.copied for source_text in source_texts]
        hidden_targets = []
        for target, copied_parts in zip(targets, copied, strict=True):
            hidden_targets.append(hide(target, copied_parts))
        return source_ids, self._target_ids(hidden_targets), copied

    def _target_ids(self, texts: Sequence[str]) -> list[list[int]]:
        return self.subword.target.encode([one_line(self.normalizer.target(text)) for text in texts])

    def _fits(self, row: Sequence[int], label: Sequence[int]) -> bool:
        return len(row) < self.max_length and len(label) < self.searcher.max_positions

    def _batches(self, lengths: Sequence[int], count: int = 1) -> Iterator[list[int]]:
        """Yield the indexes of each batch: similar lengths, longest first, within the bound on positions."""
        width = max(count, self.search.beam_size) if self.search.method == "beam" else count
        at_once = self.searcher.batches_at_once
        most, positions = self.search.batch_size * at_once, SOURCE_POSITIONS_AT_ONCE * at_once
        return batches_by_length(lengths, lambda longest: min(most, max(1, positions // ((longest + 1) * width))))

    def _forced(
        self, prefixes: Sequence[str], segments: Sequence[Segment], between: Sequence[Sequence[str]], first_line: int
    ) -> list[list[int]] | None:
        """Return the forced prefix of each segment: the text's prefix for its first segment, else none.

        `between` is the text around the segments of each text. What is copied before the first segment is not forced.
        """
        if not any(prefixes):
            return None
        copied = {segment.line: segment.copied for segment in segments if segment.is_first}
        forced_texts: list[str] = []
        for line, (prefix, copied_texts) in enumerate(zip(prefixes, between, strict=True)):
            not_copied = prefix.strip().removeprefix(copied_texts[0].strip())
            forced_texts.append(hide(not_copied, copied.get(line, {})))
        ids = self._target_ids(forced_texts)
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
            texts = list(map(self.normalizer.unify_orthography, texts)) if self.search.orthography else texts
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
        # Placeholders are shown as the text that they stand for.
        copied_parts = {}
        for placeholder in self.subword.source.placeholders:
            copied_parts[ord(placeholder)] = segment.copied.get(placeholder, "")

        def shown(pieces: Sequence[str]) -> list[str]:
            return [piece.translate(copied_parts) for piece in pieces]

        labels = []
        for hypothesis in hypotheses:
            ending = [EOS] if hypothesis.finished else []
            labels.append([*hypothesis.tokens, *ending])
        source_pieces = shown(self.subword.source.pieces_of([*segment.ids, EOS]))
        all_weights = self.searcher.cross_attention([segment.ids] * len(labels), labels)

        results = []
        for hypothesis, label, weights in zip(hypotheses, labels, all_weights, strict=True):
            target_pieces = shown(self.subword.target.pieces_of(label))
            attention_map = AttentionMap(source_pieces, target_pieces, weights)
            aligned = align_words(self.subword, segment.ids, hypothesis.tokens, weights)
            alignment = Alignment(tuple(shown(aligned.source)), tuple(shown(aligned.target)), aligned.pairs)
            results.append((attention_map, alignment))
        return results


def without_second_ending(text: str, source: str) -> str:
    """Return a translation without the extra punctuation that a minimum length forced at its end, as in `. ..`.

    If `source` itself ends in several marks, such as `...`, the text stays unchanged.
    """
    several = source.rstrip().endswith("…") or _SEVERAL_ENDINGS.search(source)
    return text if several else _SEVERAL_ENDINGS.sub(r"\1", text)
