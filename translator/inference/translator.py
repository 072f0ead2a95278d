"""`Translator`: text to text with a trained model; one complete line out per line in, in order."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from translator.core.hypothesis import Hypothesis, Rows
from translator.corpus.tags import tag_of
from translator.errors import InputError
from translator.inference.alignment import Alignment, AttentionMap, align_words, attention_of
from translator.inference.confidence import Confidence, read_confidence
from translator.inference.engines.engine import LoadedModel
from translator.inference.reranking import rerank
from translator.inference.text.checks import checked_texts, warn_of_lost_text
from translator.inference.text.joining import join_segments
from translator.inference.text.loops import find_without_loops
from translator.inference.text.output_text import output_texts
from translator.inference.text.segments import Segment, SegmentReader
from translator.inference.translation import Translation
from translator.run.logging import LOGGER
from translator.search.request import SearchRequest
from translator.subword.glossary import NO_GLOSSARY, Glossary
from translator.subword.placeholders import hide
from translator.subword.source_text import one_line


class Translator(LoadedModel):
    """Translates text in the direction of its run. Thread-safe."""

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
        does not use is copied, with a warning. Another warning names the lines that lost a digit, or have
        U+FFFD for a broken character.

        Raises InputError: `texts` is a single text, or an item is not a `str` or has a lone surrogate.
        """
        texts = checked_texts(texts, "texts")
        lines = [translations[0].text for translations in self.translations(texts, scored=False)]
        warn_of_lost_text(texts, lines, first_line=1)
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
        if attention:
            self.searcher.check_attention()

        # 2. Read the texts, and search for the translations of their segments.
        terms = self.glossary if glossary is None else glossary
        # `between` has for each text what is copied before, between and after its segments.
        segments, between = self._segment_reader.read(texts, terms, first_line, origins)
        request = SearchRequest(
            rows=[segment.ids for segment in segments],
            config=self.search,
            # Reranking needs the whole beam, with scores.
            count=count if self._reverse is None else max(count, self.search.beam_size),
            prefixes=self._forced(beginnings, segments, between, first_line) if any(beginnings) else (),
            scored=scored or self._reverse is not None,
            check=check,
        )
        hypotheses = find_without_loops(self.searcher, self.subword, request)

        # 3. Write the text of each hypothesis. With `search.rerank`, the model of the other direction helps to sort the
        # translations of each segment again.
        by_segment: list[list[Translation]] = []  # the translations of each segment
        for segment, segment_hypotheses in zip(segments, hypotheses, strict=True):
            prefix = beginnings[segment.line]
            by_segment.append(self._translations_of_segment(segment, segment_hypotheses, prefix, attention=attention))
        if self._reverse is not None:
            by_segment = rerank(segments, by_segment, self._reverse.score)

        # 4. Join the segments of each text. A text without segments is copied: `text_between` has all of it.
        by_text: list[list[list[Translation]]] = [[] for _ in texts]  # for each text, those of each of its segments
        for segment, translations in zip(segments, by_segment, strict=True):
            by_text[segment.line].append(translations)
        ranked = self.search.method != "sampling"  # draws are joined by number, not by their scores
        results: list[list[Translation]] = []
        for text_segments, text_between in zip(by_text, between, strict=True):
            if text_segments:
                joined = join_segments(text_segments, text_between, count, ranked=ranked)
            else:
                maps = () if attention else None  # no map, as there is no segment; None if not requested
                joined = [Translation(text_between[0], precision=self.search.precision, attention=maps)]
            # Approximate scores would give a wrong confidence.
            if scored and self.confidence:
                for rank, translation in enumerate(joined):
                    joined[rank] = replace(translation, confidence=self.confidence.probability(translation))
            results.append(joined)
        return results

    def _translations_of_segment(
        self, segment: Segment, hypotheses: Sequence[Hypothesis], prefix: str, *, attention: bool
    ) -> list[Translation]:
        """Return the translation that each hypothesis of a segment spells, with its attention map if requested."""
        rows = [hypothesis.tokens for hypothesis in hypotheses]
        outputs = output_texts(rows, segment, prefix, self.subword, self.normalizer, self.search)
        translations = []
        for text, hypothesis in zip(outputs, hypotheses, strict=True):
            translation = self._translation(text, segment, hypothesis)
            # Attention takes another pass through the model, so it is computed only on request.
            if attention:
                attention_map = attention_of(self.searcher, self.subword, segment, hypothesis)
                translation = replace(translation, attention=(attention_map,))
            translations.append(translation)
        return translations

    def _translation(self, text: str, segment: Segment, hypothesis: Hypothesis) -> Translation:
        """Return the translation of a segment by `text`, with the scores of a hypothesis."""
        return Translation(
            text=text,
            score=hypothesis.score,
            normalized_score=hypothesis.normalized_score,
            tokens=len(hypothesis.tokens) + hypothesis.finished,
            pieces=1,
            finished=hypothesis.finished,
            precision=self.search.precision,
            source_tokens=len(segment.ids),
        )

    def hypotheses(self, rows: Rows) -> list[list[Hypothesis]]:
        """Return the best hypothesis for each row of source ids."""
        return find_without_loops(self.searcher, self.subword, SearchRequest(rows, self.search))

    def score(self, sources: Iterable[str], targets: Iterable[str]) -> list[Translation]:
        """Return each target scored as the translation of its source, by teacher forcing.

        A pair that is too long for the model gets the score minus infinity, with a warning: the segments of its two
        sides cannot be paired.

        Raises InputError: a text is invalid, or the two sides differ in number.
        """
        # 1. Encode both sides of each pair. Each source is one segment, so `segment.line` is the number of its pair.
        sources = checked_texts(sources, "sources")
        targets = checked_texts(targets, "targets")
        if len(sources) != len(targets):
            raise InputError(f"there are {len(sources)} sources and {len(targets)} targets; give one target for each")
        segments = self._segment_reader.whole(sources, self.glossary)
        target_ids = self._target_ids(targets, segments)

        # 2. Score the pairs that fit into the model. The others keep the score minus infinity.
        hypotheses = [Hypothesis(tuple(ids), -math.inf, -math.inf, finished=False) for ids in target_ids]
        fitting = [segment.line for segment in segments if self._fits(segment, target_ids[segment.line])]
        if len(fitting) < len(segments):
            unfitting = len(segments) - len(fitting)
            LOGGER.warning("%d of %d pairs are too long for the model to score", unfitting, len(segments))
        fitting_rows = [segments[line].ids for line in fitting]
        fitting_targets = [target_ids[line] for line in fitting]
        scored = self.searcher.score(fitting_rows, fitting_targets, self.search.settings)
        for line, hypothesis in zip(fitting, scored, strict=True):
            hypotheses[line] = hypothesis
        return list(map(self._translation, targets, segments, hypotheses))

    def attention(self, text: str) -> AttentionMap:
        """Return the attention map of the translation of `text`, or of its first segment if it has several.

        Raises InputError: the text has no words, or the engine gives no attention.
        """
        maps = self.translations([text], attention=True)[0][0].attention
        if not maps:
            raise InputError("the text has no words to translate; give a sentence")
        return maps[0]

    def align(self, source: str, target: str) -> Alignment:
        """Return the word alignment of `target`, any translation, to `source`, by the model's attention.

        Raises InputError: a side is no valid text, a side is too long for the model, or the engine gives no
            attention.
        """
        # Each side is one segment: parts of a given translation could not be paired with parts of the source.
        (segment,) = self._segment_reader.whole(checked_texts([source], "source"), self.glossary)
        (target_ids,) = self._target_ids(checked_texts([target], "target"), [segment])
        if not self._fits(segment, target_ids):
            raise InputError(
                f"the texts have {len(segment.ids)} and {len(target_ids)} tokens, but the model takes at most "
                f"{self.max_length - 1} and {self.searcher.max_positions - 1}; align sentence by sentence"
            )
        # The alignment does not use the scores.
        hypothesis = Hypothesis(tokens=tuple(target_ids), score=0.0, normalized_score=0.0, finished=True)
        return align_words([attention_of(self.searcher, self.subword, segment, hypothesis)])

    def segments(self, texts: Iterable[str]) -> list[Segment]:
        """Return the segments of the texts, with their ids; a text without words has none."""
        segments, _ = self._segment_reader.read(checked_texts(texts, "texts"), self.glossary)
        return segments

    @cached_property
    def glossary(self) -> Glossary:
        """The terms of `search.glossary`; raises InputError: a line is wrong, or the model has no placeholders."""
        if self.search.glossary is None:
            return NO_GLOSSARY
        if not self.subword.source.placeholders:
            raise InputError("this model has no placeholders for terms; train one with `subword.placeholders: 8`")
        return Glossary.read(Path(self.search.glossary))

    @cached_property
    def _reverse(self) -> "Translator | None":
        """The model of `search.rerank`; raises InputError: it does not translate in the other direction."""
        if self.search.rerank is None:
            return None
        reverse = Translator.load(self.search.rerank)
        if reverse.normalizer.languages != self.normalizer.languages[::-1]:
            source, target = self.normalizer.languages
            raise InputError(
                f"{self.search.rerank} does not translate {target.code}-{source.code}, so it cannot rerank; train it "
                f"with corpus.direction={target.code}-{source.code}"
            )
        return reverse

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
        return SegmentReader(self.subword, self.normalizer, self.max_length, self.search)

    def _target_ids(self, texts: Sequence[str], segments: Sequence[Segment]) -> list[list[int]]:
        """Return the ids of a target text for each segment, with placeholders for what the segment copies."""
        hidden = []
        for text, segment in zip(texts, segments, strict=True):
            hidden.append(one_line(self.normalizer.target(hide(text, segment.copied))))
        return self.subword.target.encode(hidden)

    def _fits(self, segment: Segment, target_ids: Sequence[int]) -> bool:
        return len(segment.ids) < self.max_length and len(target_ids) < self.searcher.max_positions

    def _forced(
        self, prefixes: Sequence[str], segments: Sequence[Segment], between: Sequence[Sequence[str]], first_line: int
    ) -> list[list[int]]:
        """Return the ids of each segment's forced prefix: that of its text for the first segment, none for the others.

        Raises InputError: a prefix is too long for the model.
        """
        texts = []
        for segment in segments:
            # A prefix may begin with what is copied before the first segment. The model does not write that part.
            copied_before = between[segment.line][0].strip()
            prefix = prefixes[segment.line].strip().removeprefix(copied_before)
            texts.append(prefix if segment.is_first else "")
        rows = self._target_ids(texts, segments)
        room = self.searcher.max_positions - 1  # the end of the sentence takes a position
        for segment, ids in zip(segments, rows, strict=True):
            if len(ids) > room:
                raise InputError(
                    f"the forced prefix of line {first_line + segment.line} has {len(ids)} tokens, but the model can "
                    f"take no more than {room} before the end of a sentence; shorten the prefix"
                )
        return rows
