"""Writes the sample corpus: seeded generation, a split that holds word combinations out of train, and the files."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from scripts.sample_corpus import (
    patterns_comparing,
    patterns_complex,
    patterns_linked,
    patterns_nominal,
    patterns_questions,
    patterns_verbal,
)
from scripts.sample_corpus.grammar import Grammar, Sentence
from scripts.sample_corpus.lexicon import load_lexicon
from translator.errors import CorpusError

SEED = 20240320
PAIRS = 16500
VALIDATION = 500
TEST = 1000
# Percent of all combinations kept for each held-out split.
TEST_SHARE = 7
VALIDATION_SHARE = 4
# A word must be met this often in training before a test sentence may use it.
MINIMUM_COUNT = 5
LONGEST = 16
PATTERNS = (
    *patterns_verbal.PATTERNS,
    *patterns_questions.PATTERNS,
    *patterns_nominal.PATTERNS,
    *patterns_comparing.PATTERNS,
    *patterns_complex.PATTERNS,
    *patterns_linked.PATTERNS,
)
SPLITS = ("train", "validation", "test")


@dataclass
class Corpus:
    """The three splits, in the order in which they are written."""

    train: list[Sentence] = field(default_factory=list)
    validation: list[Sentence] = field(default_factory=list)
    test: list[Sentence] = field(default_factory=list)

    def split(self, name: str) -> list[Sentence]:
        """One split by name."""
        sentences: list[Sentence] = getattr(self, name)
        return sentences


def bucket(key: str) -> str:
    """The split that owns a word combination; crc32 is the same on every machine, unlike hash()."""
    share = zlib.crc32(key.encode("utf-8")) % 100
    if share < TEST_SHARE:
        return "test"
    return "validation" if share < TEST_SHARE + VALIDATION_SHARE else "train"


def home_of(keys: Iterable[str]) -> str:
    """The split a sentence belongs to, or "" where its combinations belong to two held-out splits."""
    homes = {bucket(key) for key in keys} - {"train"}
    if len(homes) > 1:
        return ""
    return homes.pop() if homes else "train"


def read_idioms(path: Path) -> list[Sentence]:
    """The hand-written pairs: English TAB Persian, # opens a comment."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise CorpusError(f"{path}: cannot read the hand-written pairs ({error.strerror})") from error
    pairs = []
    for number, line in enumerate(lines, start=1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 2 or not all(fields):
            raise CorpusError(f"{path}, line {number}: want English TAB Persian, got {len(fields)} fields")
        pairs.append(Sentence(fields[0], fields[1], "idiom"))
    return pairs


def generate(folder: Path, seed: int = SEED, pairs: int = PAIRS) -> Corpus:
    """Make the corpus from the lexicon and the idioms under `folder`; the same arguments give the same corpus.

    `pairs` counts all three splits and the idioms, which go to train.
    """
    rng = random.Random(seed)
    grammar = Grammar(load_lexicon(folder / "lexicon"), rng)
    corpus = Corpus(train=read_idioms(folder / "idioms.tsv"))
    sizes = {"train": pairs - VALIDATION - TEST, "validation": VALIDATION, "test": TEST}
    if sizes["train"] <= len(corpus.train):
        raise CorpusError(
            f"{pairs} pairs are too few: the idioms and the held-out splits alone take more; raise --pairs"
        )

    # 1. Sentences for each split: more held-out ones than needed, because some use words that are too rare in train.
    pool_sizes = {"train": sizes["train"], "validation": 2 * VALIDATION, "test": 2 * TEST}
    pools = _fill_pools(grammar, rng, corpus.train, pool_sizes)

    # 2. The held-out sentences whose words train knows.
    counts = Counter(lemma for sentence in pools["train"] for lemma in set(sentence.lemmas))
    for name in ("validation", "test"):
        sentences = []
        for sentence in pools[name]:
            if all(counts[lemma] >= MINIMUM_COUNT for lemma in sentence.lemmas):
                sentences.append(sentence)
        if len(sentences) < sizes[name]:
            raise CorpusError(
                f"only {len(sentences)} of {sizes[name]} {name} pairs use words that train knows; raise --pairs"
            )
        corpus.split(name).extend(sentences[: sizes[name]])

    # 3. Idioms and sentences in random order.
    rng.shuffle(corpus.train)
    return corpus


def _fill_pools(
    grammar: Grammar, rng: random.Random, train: list[Sentence], pool_sizes: dict[str, int]
) -> dict[str, list[Sentence]]:
    """Return distinct sentences for each split; `train` has the first ones of its pool and gets the others."""
    pools: dict[str, list[Sentence]] = {"train": train, "validation": [], "test": []}
    english_texts = {sentence.en for sentence in train}
    home_of_persian: dict[str, str] = {sentence.fa: "train" for sentence in train}
    functions = [function for function, _ in PATTERNS]
    weights = [weight for _, weight in PATTERNS]
    while any(len(pools[name]) < pool_sizes[name] for name in SPLITS):
        sentence = rng.choices(functions, weights)[0](grammar)
        home = home_of(sentence.keys)
        if not home or len(pools[home]) >= pool_sizes[home]:
            continue
        if sentence.en in english_texts or len(sentence.en.split()) > LONGEST:
            continue
        # "He ..." and "She ..." share their Persian; that is fine inside one split and a leak between two.
        if home_of_persian.setdefault(sentence.fa, home) != home:
            continue
        english_texts.add(sentence.en)
        pools[home].append(sentence)
    return pools


def write(corpus: Corpus, folder: Path) -> None:
    """Write train.tsv, validation.tsv and test.tsv, each atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in SPLITS:
        text = render(corpus.split(name))
        temporary = folder / f".{name}.tsv.partial"
        temporary.write_bytes(text)
        temporary.replace(folder / f"{name}.tsv")


def render(sentences: Iterable[Sentence]) -> bytes:
    """The bytes of a split file."""
    return "".join(f"{sentence.en}\t{sentence.fa}\n" for sentence in sentences).encode("utf-8")
