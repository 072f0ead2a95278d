"""Words and files for toy corpora."""

import random
from pathlib import Path


def letters(count: int, seed: int, alphabet: str = "abcdefgh", longest: int = 8) -> list[str]:
    generator = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(generator.choices(alphabet, k=generator.randint(3, longest)))] = None
    return list(words)


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return path
