"""Copied text is cut out before the model and put back after it, whatever the model does with the placeholders."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sentences import ENGLISH, PERSIAN, trained, unigram
from translator.subword.placeholders import PLACEHOLDERS, cut_out, cut_out_of_pair, hide, put_back

FIRST, SECOND, THIRD = list(PLACEHOLDERS[:3])


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        ("Look at https://youtu.be/dQw4w9WgXcQ?t=3.", ["https://youtu.be/dQw4w9WgXcQ?t=3"]),
        ("(see www.example.org/bar_(x)), ok?", ["www.example.org/bar_(x)"]),
        ("it is on Example.com, I think", ["Example.com"]),
        ("mail Ali.Reza+x@sharif.edu.ir!", ["Ali.Reza+x@sharif.edu.ir"]),
        ("@ali_r wrote to @sara.", ["@ali_r", "@sara"]),
        ("haha 😂😂 ❤️ so good 👨‍👩‍👧 1️⃣", ["😂😂", "❤️", "👨‍👩‍👧", "1️⃣"]),
        (
            "example.com.au or site.com:8080/a?x=1#top or t.me/x",
            ["example.com.au", "site.com:8080/a?x=1#top", "t.me/x"],
        ),
        (
            "https://fa.wikipedia.org/wiki/تهران and https://x.org—which",
            ["https://fa.wikipedia.org/wiki/تهران", "https://x.org"],
        ),
        ("@bob@mastodon.social, müller@firma.de", ["@bob@mastodon.social", "müller@firma.de"]),
        ("./src/main.py, archive.tar.gz", ["./src/main.py", "archive.tar.gz"]),
        ("at @10am on my phone.TV is off. awww.so cute. yes.Info", ["10"]),
        ("open data/report.pdf and index.html", ["data/report.pdf", "index.html"]),
        ("It costs $3.50, or 1,200 on 23/11/2026 at 10:30.", ["3.50", "1,200", "23/11/2026", "10:30"]),
        ("His number is +98 21 8877 6655.", ["+98 21 8877 6655"]),
        ("(021) 8877 6655 or 0912 345 6789", ["(021) 8877 6655", "0912 345 6789"]),
        (
            "4539 1488 0343 6467; IR06 0170 0000 0010 0324 2000 01 is",
            ["4539 1488 0343 6467", "IR06 0170 0000 0010 0324 2000 01"],
        ),
        ("150 000, 1\xa0234\xa0567.8, 15\u202f000", ["150 000", "1\xa0234\xa0567.8", "15\u202f000"]),
        ("in 1990 2000 people; rooms 12 14 and 16", ["1990", "2000", "12", "14", "16"]),
        (
            "10–20, 10—20, 10 − 20, -5 −6 and 3½, 3 1/2, .5",
            ["10–20", "10—20", "10 − 20", "-5", "−6", "3½", "3 1/2", ".5"],
        ),
        ("5kg, 10am, 5AM, 5m², the 22nd of the 1990s, No.5", ["5", "10", "5", "5", "22", "1990", "5"]),
        ("a 5-year-old, mid-1990s, covid-19, 100%", ["5", "1990", "19", "100"]),
        ("B12, BE0768880101, MP3, v2.0, UTF-8, H2O, 4K", ["B12", "BE0768880101", "MP3", "v2.0", "UTF-8", "H2O", "4K"]),
        ("at 2026-11-28T10:30:00Z or 12/05x", ["2026-11-28T10:30:00Z", "12/05"]),
        ("سال۱۹۹۰ و ۵کیلو", ["۱۹۹۰", "۵"]),
        ("%s, %1$s, %(user)s, %.2f, but 20% discount", ["%s", "%1$s", "%(user)s", "%.2f", "20"]),
        ("{name}, {{ count }}, ${x}, but {he said}", ["{name}", "{{ count }}", "${x}"]),
        ('<0>a</0> <img src="a.png"/>, but a < b and c > d', ["<0>", "</0>", '<img src="a.png"/>']),
        ("#Tehran, but C#; /etc/hosts, ~/a/b. and/or", ["#Tehran", "/etc/hosts", "~/a/b"]),
        (r"C:\Program Files\a.txt, \\host\share.", [r"C:\Program Files\a.txt", r"\\host\share"]),
        ("run `a -b 'c d'`, `Yes' he said `no'", ["`a -b 'c d'`"]),
        ("either/or, C++, rock'n'roll, A. B. Smith in the U.S. He said so.Then he left", []),
    ],
)
def test_urls_emails_handles_emoji_files_and_numbers_are_cut_out(text: str, copied: list[str]) -> None:
    shown, parts = cut_out(text, PLACEHOLDERS)
    assert list(parts.values()) == copied
    for part in copied:
        assert part not in shown


@given(st.text(), st.integers(0, 3))
def test_putting_back_what_was_cut_out_restores_any_text(text: str, count: int) -> None:
    shown, copied = cut_out(text, PLACEHOLDERS[:count])
    without_placeholders = "".join(character for character in text if character not in PLACEHOLDERS)
    # A unit that touches its number has a space before it now.
    assert put_back(shown, copied).replace(" ", "") == without_placeholders.replace(" ", "")


def test_neighbouring_numbers_share_the_last_placeholder_beside_an_address() -> None:
    text, copied = cut_out("See www.a.org: 1, 2.", PLACEHOLDERS[:2])
    assert (text, list(copied.values())) == (f"See {FIRST}: {SECOND}.", ["www.a.org", "1, 2"])


def test_a_part_comes_back_once_though_the_model_repeats_its_placeholder() -> None:
    assert put_back(f"{FIRST} and {FIRST} of {SECOND}", {FIRST: "12"}) == "12 and of"


@given(st.text(st.sampled_from([*PLACEHOLDERS, *"1 a@.org"])), st.integers(0, 3))
def test_only_the_placeholders_of_copied_parts_are_in_the_text(text: str, count: int) -> None:
    shown, copied = cut_out(f"12 {text}", PLACEHOLDERS[:count])
    assert len(copied) <= count
    if count > 0:
        assert set(shown) & set(PLACEHOLDERS) == set(copied)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (
            "See www.a.org, x@y.org 😂",
            "😂 به www.a.org بروید",
            (f"See {FIRST}, x@y.org {SECOND}", f"{SECOND} به {FIRST} بروید"),
        ),
        ("bba.org, a.org", "a.org", (f"bba.org, {FIRST}", FIRST)),
        ("😂 a 😂", "😂 b", (f"{FIRST} a 😂", f"{FIRST} b")),
        (
            "12 of 3.5 in 7 days",
            "٣٫٥ از ۱۲ در هفت روز",
            (f"{FIRST} of {SECOND} in 7 days", f"{SECOND} از {FIRST} در هفت روز"),
        ),
    ],
    ids=["shared-parts", "whole-parts", "as-often-as-on-both-sides", "numbers-in-any-digits"],
)
def test_a_pair_gets_placeholders_for_what_both_sides_contain(
    source: str, target: str, expected: tuple[str, str]
) -> None:
    assert cut_out_of_pair(source, target, PLACEHOLDERS) == expected


@pytest.mark.parametrize("translation", ["قیمت €۲۰ است", "قیمت €20 است"])
def test_a_number_with_its_sign_is_hidden_as_one_part(translation: str) -> None:
    assert hide(translation, {FIRST: "€۲۰"}) == f"قیمت {FIRST} است"


def test_a_character_learned_from_text_is_not_a_placeholder(tmp_path: Path) -> None:
    texts = [f"{text} {FIRST}" for text in ENGLISH]
    model = trained(texts * 5, unigram(vocabulary_size=80), tmp_path / "source.model")
    assert model.pieces_of(model.encode([FIRST])[0])[-1].endswith(FIRST)
    assert not model.placeholders


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
def test_each_placeholder_of_a_model_is_one_piece_wherever_it_stands(tmp_path: Path, kind: str) -> None:
    config = unigram(model_type=kind, placeholders=2, vocabulary_size=90)
    model = trained([*ENGLISH, *PERSIAN] * 5, config, tmp_path / "source.model", fold=True)
    assert list(model.placeholders) == [FIRST, SECOND]
    for text in (f"the {FIRST}", f"the{SECOND}.", f"{FIRST}{SECOND}"):
        expected = [model.placeholders[character] for character in text if character in PLACEHOLDERS]
        ids = model.encode_one(text)
        assert [token for token in ids if token in model.placeholders.values()] == expected
        assert model.decode_ids([ids]) == [text]
