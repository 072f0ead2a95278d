"""The lexicon files are sound, and a broken one is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from translator.corpus.sample.lexicon import load_lexicon
from translator.errors import CorpusError

LEXICON = Path(__file__).resolve().parents[3] / "data" / "sample" / "lexicon"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LEXICON, tmp_path / "lexicon"))


def append(path: Path, line: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")


def test_size() -> None:
    lexicon = load_lexicon(LEXICON)
    assert lexicon.lemmas() >= 450
    assert len(lexicon.verbs) >= 70


def test_nouns_have_their_forms() -> None:
    nouns = load_lexicon(LEXICON).nouns
    assert (nouns["child"].plural, nouns["child"].fa_plural) == ("children", "بچه‌ها")
    assert (nouns["friend"].fa_plural, nouns["watch"].fa_plural) == ("دوستان", "ساعت‌های مچی")
    assert (nouns["home"].to, nouns["home"].at, nouns["beach"].at) == ("home", "at home", "on the beach")


def test_every_persian_word_is_persian() -> None:
    lexicon = load_lexicon(LEXICON)
    words = [noun.fa for noun in lexicon.nouns.values()] + [a.fa for a in lexicon.adjectives.values()]
    assert all(not any(letter in word for letter in "يكىة") and word.strip() == word for word in words)


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("nouns.yaml", "unicorn: {tags: animal}", r"nouns.yaml: entry 'unicorn' has no 'fa'"),
        ("people.yaml", "book: {fa: کتاب, kind: worker}", r"people.yaml: noun 'book' is in the lexicon twice"),
        ("places.yaml", "moonbase: {fa: پایگاه, in: on}", r"places.yaml: noun 'moonbase': 'in' is not text"),
        (
            "verbs.yaml",
            "fly: {en: fly flew flown, fa: [پرید], frames: [{}]}",
            r"'fa' wants \[past stem, present stem\]",
        ),
        ("verbs.yaml", "fly: {en: fly, fa: [پرید, پر], frames: [{sky: true}]}", r"unknown frame key 'sky'"),
        ("verbs.yaml", "fly: {en: fly, fa: [پرید, پر], frames: [{obj: [xyz]}]}", r"names 'xyz', which is neither"),
        ("verbs.yaml", "fly: {en: fly, fa: [پرید, پر], frames: [{at: [xyz]}]}", r"names the place 'xyz'"),
        ("verbs.yaml", "fly: {en: fly, fa: [پرید, پر], frames: [{how: [xyz]}]}", r"names the manner 'xyz'"),
        ("verbs.yaml", "fly: {en: fly, fa: [پرید, پر], frames: [{because: [xyz]}]}", r"names the reason 'xyz'"),
        ("adjectives.yaml", "shiny: {fa: براق}", r"adjectives.yaml: entry 'shiny' has no 'kind'"),
        ("times.yaml", "past: {", r"times.yaml: not valid YAML"),
    ],
)
def test_broken_entry_is_named(copy: Path, file: str, line: str, message: str) -> None:
    append(copy / file, line)
    with pytest.raises(CorpusError, match=message):
        load_lexicon(copy)


def test_empty_file(copy: Path) -> None:
    (copy / "spots.yaml").write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"spots.yaml: the lexicon file is empty"):
        load_lexicon(copy)


def test_missing_file(copy: Path) -> None:
    (copy / "verbs.yaml").unlink()
    with pytest.raises(CorpusError, match=r"verbs.yaml: cannot read the lexicon file"):
        load_lexicon(copy)
