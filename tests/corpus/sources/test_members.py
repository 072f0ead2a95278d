"""Which member of a zip is which language."""

from pathlib import Path

import pytest

from translator.corpus.sources.members import choose_members, listing, shown, side_of, without_compression
from translator.errors import CorpusError

ARCHIVE = Path("corpus.zip")


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["mizan_en.txt", "mizan_fa.txt"], ("mizan_en.txt", "mizan_fa.txt")),
        (["fa.txt", "en.txt"], ("en.txt", "fa.txt")),
        (["bible.en-fa.en", "bible.en-fa.fa"], ("bible.en-fa.en", "bible.en-fa.fa")),
        (["MIZAN.en-fa.ids", "README", "MIZAN.en-fa.fa", "MIZAN.en-fa.en"], ("MIZAN.en-fa.en", "MIZAN.en-fa.fa")),
        (["a b/EN.TXT", "a b/Fa.txt"], ("a b/EN.TXT", "a b/Fa.txt")),
        (["x/en.txt", "x/fa.txt", "__MACOSX/x/._en.txt", "__MACOSX/x/._fa.txt"], ("x/en.txt", "x/fa.txt")),
        (["deep/er/train.en", "deep/er/train.fa"], ("deep/er/train.en", "deep/er/train.fa")),
        (["متن_en.txt", "متن_fa.txt", "garden.txt"], ("متن_en.txt", "متن_fa.txt")),
    ],
)
def test_pairs_are_recognised(names: list[str], chosen: tuple[str, str]) -> None:
    assert choose_members(ARCHIVE, names, None, None) == chosen


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["en.txt"], "holds no pair of members like en.txt and fa.txt"),
        (["x/en.txt", "y/fa.txt"], "holds no pair"),
        (["garden.txt", "sofa.txt"], "holds no pair"),
        (["a.en", "a.fa", "b.en", "b.fa"], "holds several pairs of texts"),
        (["en.txt", "fa.txt", "FA.txt"], "holds several pairs of texts"),
    ],
)
def test_unclear_members_are_listed(names: list[str], problem: str) -> None:
    with pytest.raises(CorpusError) as caught:
        choose_members(ARCHIVE, names, None, None)
    message = str(caught.value)
    assert message.startswith(f"corpus.zip {problem}")
    assert "`source_member` and `target_member`" in message
    assert all(name in message for name in names)


def test_empty_archive() -> None:
    with pytest.raises(CorpusError, match=r"Members: none \(the archive is empty\)"):
        choose_members(ARCHIVE, [], None, None)


def test_long_listings_are_cut() -> None:
    with pytest.raises(CorpusError, match=r"file19 and 80 more$"):
        choose_members(ARCHIVE, [f"file{number}" for number in range(100)], None, None)


@pytest.mark.parametrize("given", ["data/One.EN", "DATA/one.en", "one.en"])
def test_given_members(given: str) -> None:
    names = ["data/One.EN", "data/Two.FA", "en.txt", "fa.txt"]
    assert choose_members(ARCHIVE, names, given, "two.fa") == ("data/One.EN", "data/Two.FA")


def test_given_member_is_missing() -> None:
    with pytest.raises(CorpusError, match=r"corpus\.zip has no member `nothing`\. Members: a, b"):
        choose_members(ARCHIVE, ["a", "b"], "nothing", "b")


def test_given_member_is_ambiguous() -> None:
    with pytest.raises(CorpusError, match=r"several members called `en`; give one with its folder: x/en, y/en"):
        choose_members(ARCHIVE, ["x/en", "y/en", "fa"], "en", "fa")


def test_given_members_are_one() -> None:
    with pytest.raises(CorpusError, match=r"are the same member, a"):
        choose_members(ARCHIVE, ["a", "b"], "a", "A")


@pytest.mark.parametrize(
    ("name", "pair", "language"),
    [
        ("en.txt", "*.txt", "en"),
        ("fa", "*", "fa"),
        ("X.en-fa.EN", "x.en-fa.*", "en"),
        ("کتاب من_fa.txt", "کتاب من_*.txt", "fa"),
        ("two\nlines.en", "two\nlines.*", "en"),
    ],
)
def test_names_of_sides(name: str, pair: str, language: str) -> None:
    assert side_of(name) == (pair, language)


@pytest.mark.parametrize("name", ["garden", "sofa.txt", "en.tsv", "text.de", "en.txt.gz", ""])
def test_names_of_no_side(name: str) -> None:
    assert side_of(name) is None


def test_compression_is_no_part_of_a_name() -> None:
    names = ["a.en.GZ", "a.en.xz", "a.en.zst", "a.en", "a.en.zip", "gz"]
    assert [without_compression(name) for name in names] == ["a.en"] * 4 + ["a.en.zip", "gz"]


def test_hostile_names_stay_on_one_short_line() -> None:
    assert shown("کتاب\u200cها en.txt") == "کتاب\u200cها en.txt"
    assert shown("a\nb\u202e") == "'a\\nb\\u202e'"
    assert listing(["x" * 70_000, "y"]) == "x" * 200 + "…, y"
