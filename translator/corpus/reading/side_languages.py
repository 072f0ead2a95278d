"""Whether the first pairs of a corpus have English on one side and Persian on the other."""

import re
from collections.abc import Sequence
from typing import Final

from translator.corpus.mojibake import is_suspect
from translator.corpus.reading.lines import Pair
from translator.corpus.reading.remarks import Remarks
from translator.corpus.scripts import ARABIC_LETTER, LETTERS
from translator.errors import CorpusError
from translator.run.text import excerpt

_CHARACTERS_COMPARED: Final = 200  # of each side of a pair
_SWAPPED_SHARE: Final = 0.9  # of the pairs, with which the sides count as swapped
_FEWEST_PAIRS_FOR_SCRIPTS: Final = 100  # with text on both sides that show whether each side has its script
_LANGUAGE_SHARE: Final = 0.01  # of these pairs; with fewer letters of a side's script, it is no text of the language
_LATIN: Final = re.compile("[A-Za-z\u00c0-\u024f]")


def refuse_swapped(pairs: Sequence[Pair], label: str, text_labels: Sequence[str], remarks: Remarks) -> None:
    """Raise CorpusError if 90% of the pairs with letters on both sides have Persian first and English second."""
    pairs_with_letters = 0
    swapped_pairs = 0
    for pair in pairs:
        first_text = pair.source[:_CHARACTERS_COMPARED]
        second_text = pair.target[:_CHARACTERS_COMPARED]
        first_latin = len(_LATIN.findall(first_text))
        first_arabic = len(ARABIC_LETTER.findall(first_text))
        second_latin = len(_LATIN.findall(second_text))
        second_arabic = len(ARABIC_LETTER.findall(second_text))
        if first_latin + first_arabic > 0 and second_latin + second_arabic > 0:
            pairs_with_letters += 1
            swapped_pairs += first_arabic > first_latin and second_latin > second_arabic
    if swapped_pairs and swapped_pairs >= _SWAPPED_SHARE * pairs_with_letters:
        first, second = text_labels if len(text_labels) == 2 else ("the column of the English text", "the other")
        raise CorpusError(
            f"{label}: the two sides are swapped: {swapped_pairs:,} of the first {pairs_with_letters:,} pairs with "
            f"letters are Persian in {first} and English in {second}; swap the columns, the names of the files, or "
            "`source_path` and `target_path` (in a zip `source_member` and `target_member`, in a table "
            f"`source_column` and `target_column`){remarks}"
        )


def refuse_other_scripts(pairs: Sequence[Pair], label: str, remarks: Remarks) -> None:
    """Raise CorpusError if fewer than 1% of the pairs have letters on one of the sides.

    In a table, whose columns `remarks` name, only letters of the script of the side count, and a few pairs suffice.
    """
    pairs_with_texts = [pair for pair in pairs if pair.source.strip() and pair.target.strip()]
    count = len(pairs_with_texts)
    if count == 0 or (count < _FEWEST_PAIRS_FOR_SCRIPTS and not str(remarks)):
        return
    sides = (
        ("English", "Latin", _LATIN, [pair.source for pair in pairs_with_texts]),
        ("Persian", "Arabic-script", ARABIC_LETTER, [pair.target for pair in pairs_with_texts]),
    )
    for language, script, script_letter, texts in sides:
        # Two texts may be in any script, for an experiment; columns among others need to be the right ones.
        letter = script_letter if str(remarks) else LETTERS
        # The normalizer may repair text that was decoded with the wrong character set.
        texts_with_letters = [text for text in texts if letter.search(text) or is_suspect(text)]
        if len(texts_with_letters) < _LANGUAGE_SHARE * count:
            kind = f"{script} letters" if str(remarks) else "letters"
            raise CorpusError(
                f"{label}: the {language} side is no {language}: {len(texts_with_letters)} of its first {count:,} "
                f"texts have {kind}; the first is `{excerpt(texts[0], 100)}`; give the right file, or in a table the "
                f"right `source_column` and `target_column`{remarks}"
            )
