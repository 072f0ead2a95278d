"""Subtitles, SubRip (.srt) and WebVTT (.vtt): their cues read, and sentences laid out over cues again.

Only the text of cues changes: times, numbers, settings, headers, notes and blank lines are written as they were read.
"""

import html
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from translator.corpus.reading.forms import TextFile
from translator.errors import InputError
from translator.inference.text.sentences import split_sentences

_LONGEST_PAUSE: Final = 2.5  # seconds between two cues; a sentence does not go on after a longer one
_MOST_UTTERANCES: Final = 8  # of a sentence; longer text has no punctuation, such as captions from a recogniser
_TIME: Final = r"(?:(\d+):)?([0-5]\d):([0-5]\d)[,.](\d{1,3})"
_TIMES: Final = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s.*)?")
_NO_CUE: Final = re.compile(r"(?:WEBVTT|NOTE|STYLE|REGION)(?:\s|$)")  # how other blocks of WebVTT begin
_POSITION: Final = r"(?:\{\\[^{}]*\}\s*)*"  # such as {\an8}, at the top of the picture
_TAG: Final = r"</?(?:i|b|u|s|font|c|v|lang|ruby|rt)(?:[\s.=][^<>]*)?>|<[\d:.]+>"
_MARKUP: Final = re.compile(rf"\{{\\[^{{}}]*\}}|{_TAG}", re.IGNORECASE)
_WRAPPED: Final = re.compile(rf"({_POSITION})((?:{_TAG})*)(.*?)((?:</\w+>)*)", re.IGNORECASE | re.DOTALL)
_TAG_OF_EACH_LINE: Final = re.compile(r"</([ibu])>\n<\1>", re.IGNORECASE)
_DASH: Final = r"[-‐‑–—](?![\d-])"  # before what a speaker says
_EDGES: Final = re.compile(rf"((?:[ \t]*{_DASH})?[ \t♩-♬]*)(.*?)([ \t♩-♬]*)", re.DOTALL)
_NEXT_SPEAKER: Final = re.compile(rf"\n(?=\s*{_DASH})")


@dataclass
class _Utterance:
    """What a speaker says in a cue."""

    before: str  # a dash or a sign of music, with its space; no sentence goes on from the cue before
    text: str  # on one line
    after: str
    lines: int
    translation: list[str] = field(default_factory=list)  # the parts of its sentences

    def written(self) -> str:
        """Return its translation, on two lines if it had several."""
        lines = divided(" ".join(filter(None, self.translation)), [1] * min(self.lines, 2))
        return self.before + "\n".join(filter(None, lines)) + self.after


@dataclass(frozen=True)
class _Cue:
    start: float  # seconds
    end: float
    markup: tuple[str, str]  # tags that wrap all of it
    utterances: list[_Utterance]


class Subtitles:
    """A file of subtitles, which is translated sentence by sentence.

    Attributes:
        texts: its sentences, each on one line.
    """

    def __init__(self, source: Path) -> None:
        """Read a file; raise CorpusError or InputError if it is not UTF-8, or a cue is broken."""
        lines = list(TextFile(source).lines())
        self._is_vtt = bool(lines) and lines[0].startswith("WEBVTT")
        self._cues: list[_Cue] = []
        self._layout: list[str | _Cue] = []  # the lines of the file, with a cue in place of those of its text
        number = 1  # of the first line of the block
        for is_blank, group in itertools.groupby(lines, key=lambda line: not line.strip()):
            block = list(group)
            if is_blank or (self._is_vtt and _NO_CUE.match(block[0])):
                self._layout += block
            else:
                self._read_cue(source, number, block)
            number += len(block)
        self._sentences = list(self._spread_sentences())
        self.texts = [" ".join(text for _, text in parts) for parts in self._sentences]

    def _read_cue(self, source: Path, first_line: int, lines: Sequence[str]) -> None:
        """Read the cue of some lines into `_cues` and `_layout`.

        Args:
            source: the file, for an error.
            first_line: number of the first of the lines in the file, for an error.
            lines: an optional number of the cue, its times, and its text.

        Raises InputError: its times are missing, or wrong.
        """
        # 1. Find the times, the only line with an arrow, which is the first or the second one.
        arrows = [place for place, line in enumerate(lines) if "-->" in line]
        time_line = arrows[-1] if arrows else min(1, len(lines) - 1)  # the line that an error names
        times = _TIMES.fullmatch(lines[time_line])
        is_sound = False
        start = end = 0.0
        if times and len(arrows) == 1 and time_line <= 1:
            start, end = _seconds(times.groups("0")[:4]), _seconds(times.groups("0")[4:])
            is_sound = start <= end
        if not is_sound:
            raise InputError(
                f"{source}, line {first_line + time_line}: this cue of subtitles is broken; a cue is a number, a line "
                "of times such as 00:00:02,830 --> 00:00:05,560, its text and a blank line; correct it by hand"
            )

        # 2. Take the markup off its text. Tags that wrap the whole text are written again. With other tags inside, all
        # are lost: the outer ones may not belong together, as in <i>Yes</i> or <i>no</i>.
        text_lines = lines[time_line + 1 :]
        text = _TAG_OF_EACH_LINE.sub("\n", "\n".join(text_lines))
        wrapped = _WRAPPED.fullmatch(text)
        assert wrapped
        position, opening, text, closing = wrapped.groups()
        if _MARKUP.search(text):
            opening = closing = ""
            text = _MARKUP.sub("", text)

        # 3. Part the text by speakers.
        utterances = []
        if self._is_vtt:
            text = html.unescape(text)
        for speech in _NEXT_SPEAKER.split(text):
            edges = _EDGES.fullmatch(speech)
            assert edges
            before, words, after = edges.groups()
            utterances.append(_Utterance(before, " ".join(words.split()), after, lines=words.count("\n") + 1))
        cue = _Cue(start, end, (position + opening, closing), utterances)
        self._cues.append(cue)

        # 4. Let the cue stand for its text. A text without letters stays as it is.
        self._layout += lines[: time_line + 1]
        if any(_has_letters(utterance.text) for utterance in utterances):
            self._layout.append(cue)
        else:
            self._layout += text_lines

    def _spread_sentences(self) -> Iterator[list[tuple[_Utterance, str]]]:
        """Yield for each sentence the utterances over which it is spread, with the part in each."""
        for run in self._runs():
            # The text of a run is that of its utterances, with a space between two; `starts` says where each begins.
            text = " ".join(utterance.text for utterance in run)
            starts = [0, *itertools.accumulate(len(utterance.text) + 1 for utterance in run)]
            end = 0
            for sentence in split_sentences(text):
                start = end + len(sentence.before)
                end = start + len(sentence.text)
                # The part in an utterance is its overlap with the sentence; it is empty if they do not meet.
                parts = []
                for utterance, utterance_start in zip(run, starts, strict=False):  # the last start is the end of `run`
                    begin, stop = start - utterance_start, end - utterance_start
                    part = utterance.text[max(begin, 0) : max(stop, 0)].strip()
                    if part:
                        parts.append((utterance, part))
                # A "sentence" of very many utterances is text without punctuation, so each is translated by itself.
                if len(parts) > _MOST_UTTERANCES:
                    yield from ([part] for part in parts)
                else:
                    yield parts

    def _runs(self) -> Iterator[list[_Utterance]]:
        """Yield consecutive utterances in which a sentence may go on from cue to cue."""
        run: list[_Utterance] = []
        last_end = 0.0
        for cue in self._cues:
            follows_pause = cue.start - last_end > _LONGEST_PAUSE
            for utterance in cue.utterances:
                has_letters = _has_letters(utterance.text)
                has_own_sign = utterance.before.strip() != ""  # the dash of another speaker, or a sign of music
                if run and (has_own_sign or not has_letters or follows_pause):
                    yield run
                    run = []
                if has_letters:
                    run.append(utterance)
                else:  # copied, as no sentence has it
                    utterance.translation.append(utterance.text)
            last_end = cue.end
        if run:
            yield run

    def written(self, translations: Sequence[str], language: str) -> str:
        """Return the file with the translations of `texts`; `language` is unused, as subtitles do not name theirs."""
        # 1. Spread each sentence over its utterances, which are those of the cues.
        for parts, translation in zip(self._sentences, translations, strict=True):
            shares = divided(translation, [len(text) for _, text in parts])
            for (utterance, _), share in zip(parts, shares, strict=True):
                utterance.translation.append(share)

        # 2. Put the texts of the cues in place.
        lines = []
        for line_or_cue in self._layout:
            if isinstance(line_or_cue, _Cue):
                text = "\n".join(utterance.written() for utterance in line_or_cue.utterances)
                if self._is_vtt:
                    text = html.escape(text, quote=False)
                opening, closing = line_or_cue.markup
                lines.append(opening + text + closing)
            else:
                lines.append(line_or_cue)
        return "".join(f"{line}\n" for line in lines)


def _has_letters(text: str) -> bool:
    return any(map(str.isalpha, text))


def divided(text: str, weights: Sequence[int]) -> list[str]:
    """Return the words of `text` in parts with lengths as nearly in proportion to `weights` as words allow.

    No part is empty if there are enough words; otherwise the last parts are.
    """
    words = text.split(" ")
    lengths = [0, *itertools.accumulate(len(word) + 1 for word in words)]  # of the first 0, 1, 2 … words, with spaces
    parts = []
    start = 0  # the number of words before the part
    for number, weight_so_far in enumerate(itertools.accumulate(weights), 1):
        # The part ends after the word where the text so far is nearest to its share of the whole. The part has a word
        # if any is left, and leaves a word for each part after it.
        goal = lengths[-1] * weight_so_far / sum(weights)
        earliest_end = min(start + 1, len(words))
        latest_end = max(earliest_end, len(words) - (len(weights) - number))
        distances = [abs(length - goal) for length in lengths[earliest_end : latest_end + 1]]
        end = earliest_end + distances.index(min(distances))
        parts.append(" ".join(words[start:end]))
        start = end
    return parts


def _seconds(parts: Sequence[str]) -> float:
    """Return the seconds of hours, minutes, seconds and a fraction in digits."""
    hours, minutes, seconds, fraction = parts
    return int(hours) * 3600 + int(minutes) * 60 + float(f"{seconds}.{fraction}")
