"""The words of the English training text with their counts, which spelling correction uses."""

import string
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from translator.errors import SubwordError
from translator.run.storage import write_text
from translator.subword.files import read_file, remedy

_OTHER_AS_SPACE: Final = bytes(byte if chr(byte) in string.ascii_lowercase else ord(" ") for byte in range(256))
_MAX_STORED_WORDS: Final = 200_000  # the most frequent ones


def count_words(lines: Iterable[str]) -> Counter[str]:
    """Return the count of each English word, in lower case, in `lines`."""
    # As bytes, because replacing all other characters by spaces is much faster than searching for words.
    counts = Counter[bytes]()
    for line in lines:
        counts.update(line.lower().encode("utf-8").translate(_OTHER_AS_SPACE).split())
    return Counter({word.decode("ascii"): count for word, count in counts.items()})


def write_word_counts(path: Path, counts: Mapping[str, int]) -> None:
    """Write the most frequent words to the file `path`, a word and its count per line."""
    by_frequency = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"{word}\t{count}\n" for word, count in by_frequency[:_MAX_STORED_WORDS]]
    write_text(path, "".join(lines))


def read_word_counts(path: Path) -> dict[str, int]:
    """Return the counts in the file `path`; empty if the file is missing, as in runs of older versions.

    Raises SubwordError: the file is damaged.
    """
    if not path.exists():
        return {}
    counts: dict[str, int] = {}
    try:
        for line in read_file(path).decode().splitlines():
            word, count = line.split("\t")
            counts[word] = int(count)
    except ValueError as error:
        raise SubwordError(f"{path} is damaged; {remedy(path)}") from error
    return counts
