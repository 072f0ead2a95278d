"""Word differences between a translation and its references, marked in HTML."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from markupsafe import Markup

from translator.run.pages import visible

_WORD: Final = re.compile(r"[\w\u0300-\u036f\u064b-\u065f\u0670\u200c]+|[^\w\s]")  # a word with its marks, or a sign


def mark_differences(text: str, other_texts: Sequence[str], tag: str) -> Markup:
    """Return `text` as HTML with its differing words marked.

    Args:
        text: the text to mark.
        other_texts: at least one; the words that are not in the most similar of them are marked.
        tag: name of the HTML element around marked words.
    """
    # 1. Compare the words with those of the most similar text.
    matches = list(_WORD.finditer(text))
    words = [match[0] for match in matches]
    matchers = []
    for other_text in other_texts:
        matchers.append(SequenceMatcher(None, words, _WORD.findall(other_text), autojunk=False))
    most_similar = max(matchers, key=SequenceMatcher.ratio)

    # 2. Mark the words that the most similar text lacks; words in a row together, with the spaces between them.
    parts = []
    end = 0  # the text up to here is in `parts`
    for operation, first_word, word_after, _, _ in most_similar.get_opcodes():
        if operation in ("delete", "replace"):
            start = matches[first_word].start()
            parts.append(visible(text[end:start]))
            end = matches[word_after - 1].end()
            parts.append(Markup(f"<{tag}>{{}}</{tag}>").format(visible(text[start:end])))
    parts.append(visible(text[end:]))
    return Markup("").join(parts)
