"""`Translator`: text to text with a trained model; one complete line out per line in, in order."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Final

from translator.config import SearchConfig
from translator.core.hypothesis import Hypothesis, Rows
from translator.corpus.tags import tag_of
from translator.errors import InputError
from translator.inference.alignment import Alignment, AttentionMap, attention_of
from translator.inference.confidence import Confidence, read_confidence
from translator.inference.engines.engine import LoadedModel, load_model
from translator.inference.text.checks import checked_texts, warn_of_lost_digits
from translator.inference.text.joining import join_segments
from translator.inference.text.loops import find_without_loops
from translator.inference.text.output_text import output_texts
from translator.inference.text.segments import Segment, SegmentedTexts, SegmentReader
from translator.inference.translation import Translation
from translator.run.logging import LOGGER
from translator.search.request import SearchRequest
from translator.subword.glossary import NO_GLOSSARY, Glossary
from translator.subword.placeholders import hide
from translator.subword.source_text import one_line

_IMPOSSIBLE: Final = Hypothesis(tokens=(), score=-math.inf, normalized_score=-math.inf, finished=False)
"""What a target is that the model cannot score."""


class Translator(LoadedModel):
    """Translates text in the direction of its run. Thread-safe."""

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
            folder: a run or an export; several runs form an ensemble with the settings of the first.
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
        folders = [folder] if isinstance(folder, Path | str) else list(folder)
        model = load_model(
            [Path(run_folder) for run_folder in folders],
            engine=engine,
            checkpoint=checkpoint,
            device=device,
            search=search,
            overrides=overrides,
        )
        return cls(**vars(model))

    def use_own_threads(self) -> None:
        """Give torch the number of threads of the run; CTranslate2 has threads of its own."""
        if self.searcher.name == "torch":
            from translator.speed.device import use_threads  # it imports torch, which CTranslate2 does without

            use_threads(self.threads)

    def translate(self, text: str) -> str:
        """Return the translation of one text, on one line; see `translate_lines`."""
        (line,) = self.translate_lines([text])
        return line

    def translate_lines(self, texts: Iterable[str]) -> list[str]:
        """Return one line of translation for each text, in order; a text without words comes back as it is.

        With `search.split_sentences`, the sentences of a text are translated one by one, and the white space between
        them stays. A line break ends a sentence, and becomes a space. A sentence longer than the model's maximum is
        translated in segments, joined with spaces, with a warning. A sentence in a script that the source language
        does not use is copied, with a warning. Another warning names the lines that lost a digit.

        Raises InputError: `texts` is a single text, or an item is not a `str` or has a lone surrogate.
        """
        texts = checked_texts(texts, "texts")
        lines = [translations[0].text for translations in self.translations(texts, scored=False)]
        warn_of_lost_digits(texts, lines, first_line=1)
        return lines

    def translations(
        self,
        texts: Iterable[str],
        *,
        count: int = 1,
        prefixes: Iterable[str] | None = None,
        attention: bool = False,
        first_line: int = 1,
        check: Callable[[], None] | None = None,
        scored: bool = True,
        glossary: Glossary | None = None,
        origins: Sequence[str] | None = None,
    ) -> list[list[Translation]]:
        """Return up to `count` translations of each text, best first; with sampling, independent draws.

        A text without words is its own translation. `join_segments` joins the translations of sentences and segments.
        An alignment has no words of copied sentences.

        Args:
            texts: source texts.
            count: translations per text; at most `search.beam_size` with beam search, 1 with greedy search.
            prefixes: for each text, the beginning of its translations in whole words, or an empty text.
            attention: also return attention maps and word alignments.
            first_line: number of the first text, for warnings and errors.
            check: called often during the search; its exception ends the call.
            scored: False if only texts are needed; scores may then be the engine's approximate search scores.
            glossary: terms and their translations, in place of those of `search.glossary`.
            origins: for each text, the source of the corpus that it is from, whose tag it gets with `search.tag: auto`.

        Raises:
            ConfigError: the search settings cannot give `count` translations.
            InputError: a text is invalid (see `translate_lines`), a prefix is too long for the model, or the engine
                gives no attention.
        """
        # 1. Refuse what cannot work before a long search.
        texts = checked_texts(texts, "texts")
        beginnings = [""] * len(texts) if prefixes is None else checked_texts(prefixes, "prefixes")
        if attention and not self.searcher.gives_attention:
            self.searcher.cross_attention([], [])  # raises InputError

        # 2. Read the texts, and search for the translations of their segments.
        segmented = self._segment_reader.read(texts, first_line, glossary, origins)
        request = SearchRequest(
            rows=[segment.ids for segment in segmented.segments],
            config=self.search,
            count=count,
            prefixes=self._forced(beginnings, segmented, first_line),
            scored=scored,
            check=check,
        )
        hypotheses = find_without_loops(self.searcher, self.subword, request)

        # 3. Write the output text of each segment.
        parts: list[list[list[Translation]]] = [[] for _ in texts]  # of each text, for each of its segments
        for segment, segment_hypotheses in zip(segmented.segments, hypotheses, strict=True):
            translations = self._written(segment, segment_hypotheses, beginnings[segment.line], attention=attention)
            parts[segment.line].append(translations)

        # 4. Join the segments of each text.
        ranked = self.search.method != "sampling"
        results: list[list[Translation]] = []
        for text_parts, between in zip(parts, segmented.between, strict=True):
            if text_parts:
                joined = join_segments(text_parts, between, count, ranked=ranked)
            else:
                joined = [_untranslated(between[0], attention=attention)]
            completed = []
            for translation in joined:
                # Approximate scores would give a wrong confidence.
                confidence = self.confidence.probability(translation) if scored and self.confidence else None
                completed.append(replace(translation, precision=self.search.precision, confidence=confidence))
            results.append(completed)
        return results

    def _written(
        self, segment: Segment, hypotheses: Sequence[Hypothesis], prefix: str, *, attention: bool
    ) -> list[Translation]:
        """Return the translations of a segment, as a reader expects them; `prefix` is their forced beginning."""
        rows = [hypothesis.tokens for hypothesis in hypotheses]
        texts = output_texts(rows, segment, prefix, self.subword, self.normalizer, self.search)
        translations = []
        for text, hypothesis in zip(texts, hypotheses, strict=True):
            translation = Translation(
                text=text,
                score=hypothesis.score,
                normalized_score=hypothesis.normalized_score,
                tokens=len(hypothesis.tokens) + hypothesis.finished,
                pieces=1,
                finished=hypothesis.finished,
                source_tokens=len(segment.ids),
            )
            # Attention takes a pass through the model of its own, so it is computed only on request.
            if attention:
                attention_map, alignment = attention_of(self.searcher, self.subword, segment, hypothesis)
                translation = replace(translation, alignment=alignment, attention=(attention_map,))
            translations.append(translation)
        return translations

    def hypotheses(self, rows: Rows) -> list[list[Hypothesis]]:
        """Return the best hypothesis for each row of source ids."""
        return find_without_loops(self.searcher, self.subword, SearchRequest(rows, self.search))

    def score(self, sources: Iterable[str], targets: Iterable[str]) -> list[Translation]:
        """Return each target scored as the translation of its source, by teacher forcing.

        The text of each result is the normalized target that the model sees. `finished` is False if the target exceeds
        the search's length limit. A pair that is too long for the model gets the score minus infinity, with a warning:
        the segments of its two sides cannot be paired.

        Raises InputError: a text is invalid, or the two sides differ in number.
        """
        # 1. Encode both sides of each pair.
        sources = checked_texts(sources, "sources")
        targets = checked_texts(targets, "targets")
        if len(sources) != len(targets):
            raise InputError(f"there are {len(sources)} sources and {len(targets)} targets; give one target for each")
        segments = self._segment_reader.whole(sources)
        target_ids = self._target_ids(targets, segments)

        # 2. Score those that fit into the model.
        fitting = [segment.line for segment in segments if self._fits(segment, target_ids[segment.line])]
        if len(fitting) < len(segments):
            unfitting = len(segments) - len(fitting)
            LOGGER.warning("%d of %d pairs are too long for the model to score", unfitting, len(segments))
        fitting_rows = [segments[line].ids for line in fitting]
        fitting_targets = [target_ids[line] for line in fitting]
        scored = self.searcher.score(fitting_rows, fitting_targets, self.search.settings)
        hypotheses = dict(zip(fitting, scored, strict=True))

        # 3. Show the targets as the model sees them.
        texts = self.subword.target.decode_ids(target_ids)
        # A search could not have found a target beyond its length limit.
        limits = SearchRequest([segment.ids for segment in segments], self.search).longest_outputs(
            self.searcher.max_positions
        )
        translations = []
        for segment, ids, text, limit in zip(segments, target_ids, texts, limits, strict=True):
            hypothesis = hypotheses.get(segment.line, _IMPOSSIBLE)
            copied_parts = {ord(placeholder): part for placeholder, part in segment.copied.items()}
            with_copied_parts = text.translate(copied_parts)
            shown = one_line(with_copied_parts)
            length = len(ids) + 1  # with EOS
            translation = Translation(
                text=shown,
                score=hypothesis.score,
                normalized_score=hypothesis.normalized_score,
                tokens=length,
                pieces=1,
                finished=hypothesis.finished and length <= limit,
                precision=self.search.precision,
            )
            translations.append(translation)
        return translations

    def attention(self, text: str) -> AttentionMap:
        """Return the attention map of the translation of `text`, or of its first segment if it has several."""
        segments = self.segments([text])
        segment = segments[0] if segments else Segment(line=0, source=text, ids=[], is_first=True, copied={})
        ((hypothesis, *_),) = self.hypotheses([segment.ids])
        attention_map, _ = attention_of(self.searcher, self.subword, segment, hypothesis)
        return attention_map

    def align(self, source: str, target: str) -> Alignment:
        """Return the word alignment of `target`, any translation, to `source`, by the model's attention.

        Raises InputError: `source` is no valid text, a side is too long for the model, or the engine gives no
            attention.
        """
        # A given translation is one segment, because its parts are not aligned with those of the source.
        (segment,) = self._segment_reader.whole(checked_texts([source], "source"))
        (target_ids,) = self._target_ids([target], [segment])
        if not self._fits(segment, target_ids):
            raise InputError(
                f"the texts have {len(segment.ids)} and {len(target_ids)} tokens, but the model takes at most "
                f"{self.max_length - 1} and {self.searcher.max_positions - 1}; align sentence by sentence"
            )
        hypothesis = Hypothesis(tokens=tuple(target_ids), score=0.0, normalized_score=0.0, finished=True)
        _, alignment = attention_of(self.searcher, self.subword, segment, hypothesis)
        return alignment

    def segments(self, texts: Iterable[str]) -> list[Segment]:
        """Return the segments of the texts, with their ids; a text without words has none."""
        return self._segment_reader.read(checked_texts(texts, "texts"), first_line=1).segments

    @cached_property
    def glossary(self) -> Glossary:
        """The terms of `search.glossary`; raises InputError: a line is wrong, or the model has no placeholders."""
        if self.search.glossary is None:
            return NO_GLOSSARY
        if not self.subword.source.placeholders:
            raise InputError("this model has no placeholders for terms; train one with `subword.placeholders: 8`")
        return Glossary.read(Path(self.search.glossary))

    @cached_property
    def confidence(self) -> Confidence | None:
        """How to compute the confidence in a translation; None for an ensemble, or if nothing was fitted for it.

        Raises RunError: its file is damaged.
        """
        return read_confidence(self.confidence_file, self.checkpoint_name) if self.confidence_file else None

    @cached_property
    def _segment_reader(self) -> SegmentReader:
        name = self.search.tag
        if name not in (None, "auto") and not self.subword.source.has_pieces(tag_of(name)):
            raise InputError(f"this model has no tag `{name}`; name a source of its recipe that has `tag: true`")
        return SegmentReader(self.subword, self.normalizer, self.max_length, self.search, self.glossary)

    def _target_ids(self, texts: Sequence[str], segments: Sequence[Segment]) -> list[list[int]]:
        """Return the ids of a target text for each segment, with placeholders for what the segment copies."""
        hidden = []
        for text, segment in zip(texts, segments, strict=True):
            hidden.append(one_line(self.normalizer.target(hide(text, segment.copied))))
        return self.subword.target.encode(hidden)

    def _fits(self, segment: Segment, target_ids: Sequence[int]) -> bool:
        return len(segment.ids) < self.max_length and len(target_ids) < self.searcher.max_positions

    def _forced(self, prefixes: Sequence[str], segmented: SegmentedTexts, first_line: int) -> list[list[int]]:
        """Return the forced prefix of each segment: the text's prefix for its first segment, else none.

        What is copied before the first segment is not forced. The list is empty if no text has a prefix.
        """
        if not any(prefixes):
            return []
        # 1. Encode the prefix of each text that has segments.
        first_segments = [segment for segment in segmented.segments if segment.is_first]
        forced_texts = []
        for segment in first_segments:
            copied_before = segmented.between[segment.line][0].strip()
            forced_texts.append(prefixes[segment.line].strip().removeprefix(copied_before))
        prefix_ids = {}  # by the line of the text
        for segment, ids in zip(first_segments, self._target_ids(forced_texts, first_segments), strict=True):
            prefix_ids[segment.line] = ids

        # 2. Refuse a prefix that leaves no room for the end of the sentence.
        room = self.searcher.max_positions - 1
        for line, ids in prefix_ids.items():
            if len(ids) > room:
                raise InputError(
                    f"the forced prefix of line {first_line + line} has {len(ids)} tokens, but the model can take no "
                    f"more than {room} before the end of a sentence; shorten the prefix"
                )
        return [prefix_ids[segment.line] if segment.is_first else [] for segment in segmented.segments]


def _untranslated(text: str, *, attention: bool) -> Translation:
    """Return the translation of a text without words, which is copied; with `attention`, to nothing."""
    return Translation(
        text=text,
        score=0.0,
        normalized_score=0.0,
        tokens=0,
        pieces=0,
        finished=True,
        alignment=Alignment() if attention else None,
        attention=() if attention else None,
    )
