"""Copied text is cut out before the model and put back after it, whatever the model does with the placeholders."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from subword.sentences import ENGLISH, PERSIAN, unigram

from translator.subword import SubwordModel
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
        ("at @10am on my phone.TV is off. awww.so cute. yes.Info", []),
        ("open data/report.pdf and index.html", ["data/report.pdf", "index.html"]),
        ("It costs $3.50, or 1,200 on 23/11/2026 at 10:30.", ["3.50", "1,200", "23/11/2026", "10:30"]),
        ("the 22nd of 1990s, MP3, v2.0, UTF-8, a 5-year-old, H2O", []),
        ("either/or, C++, rock'n'roll, A. B. Smith in the U.S. He said so.Then he left", []),
    ],
)
def test_urls_emails_handles_emoji_files_and_numbers_are_cut_out(text: str, copied: list[str]) -> None:
    shown, found = cut_out(text, PLACEHOLDERS)
    assert list(found.values()) == copied
    assert not any(one in shown for one in copied)
    assert put_back(shown, found) == text


@given(st.text(), st.integers(0, 3))
def test_putting_back_what_was_cut_out_restores_any_text(text: str, count: int) -> None:
    shown, copied = cut_out(text, PLACEHOLDERS[:count])
    assert len(copied) <= count and not set(shown) & set(PLACEHOLDERS) - set(copied)
    assert put_back(shown, copied) == "".join(one for one in text if one not in PLACEHOLDERS).lstrip(" ")


def test_each_copied_part_is_put_back_exactly_once() -> None:
    copied = {FIRST: "a@b.org", SECOND: "😂"}
    assert put_back(f"به {FIRST} بنویس.", copied) == "به a@b.org بنویس. 😂"
    assert put_back(f"{SECOND} {SECOND} {THIRD} ({FIRST})", copied) == "😂 (a@b.org)"
    assert put_back("", copied) == "a@b.org 😂"


def test_a_pair_gets_placeholders_for_what_both_sides_contain() -> None:
    source, target = "See www.a.org, x@y.org 😂", "😂 به www.a.org بروید"
    assert cut_out_of_pair(source, target, PLACEHOLDERS) == (
        f"See {FIRST}, x@y.org {SECOND}",
        f"{SECOND} به {FIRST} بروید",
    )
    assert cut_out_of_pair(source, target, PLACEHOLDERS[:1]) == (f"See {FIRST}, x@y.org 😂", f"😂 به {FIRST} بروید")
    assert hide(f"{THIRD}😂 a 😂", {FIRST: "😂"}) == f"{FIRST} a 😂"
    assert hide("@ali_r", {FIRST: "@ali"}) == "@ali_r", "a part of a word is another thing"
    assert cut_out_of_pair("bba.org, a.org", "a.org", PLACEHOLDERS) == (f"bba.org, {FIRST}", FIRST)
    assert cut_out_of_pair("😂 a 😂", "😂 b", PLACEHOLDERS) == (f"{FIRST} a 😂", f"{FIRST} b")
    assert cut_out_of_pair("12 of 3.5 in 7 days", "٣٫٥ از ۱۲ در هفت روز", PLACEHOLDERS) == (
        f"{FIRST} of {SECOND} in 7 days",
        f"{SECOND} از {FIRST} در هفت روز",
    )


@pytest.mark.parametrize("translation", ["قیمت €۲۰ است", "قیمت €20 است"])
def test_a_number_with_its_sign_is_hidden_as_one_part(translation: str) -> None:
    assert hide(translation, {FIRST: "€۲۰"}) == f"قیمت {FIRST} است"


def test_a_number_is_hidden_beside_a_part_with_a_sign() -> None:
    assert hide("۵ یا €۲۰", {FIRST: "€۲۰", SECOND: "۵"}) == f"{SECOND} یا {FIRST}"


def test_a_character_learned_from_text_is_not_a_placeholder(tmp_path: Path) -> None:
    texts = [f"{text} {FIRST}" for text in ENGLISH]
    model = SubwordModel.train(texts * 5, unigram(vocabulary_size=80), tmp_path / "source.model")
    assert model.pieces_of(model.encode([FIRST])[0])[-1].endswith(FIRST) and not model.placeholders


@pytest.mark.parametrize("model_type", ["unigram", "bpe", "char"])
def test_each_placeholder_is_one_piece_wherever_it_stands(tmp_path: Path, model_type: str) -> None:
    config = unigram(model_type=model_type, placeholders=2, vocabulary_size=90)
    model = SubwordModel.train([*ENGLISH, *PERSIAN] * 5, config, tmp_path / "joint.model", fold=True)
    assert list(model.placeholders) == [FIRST, SECOND]
    for text in (f"the {FIRST}", f"the{SECOND}.", f"{FIRST}{SECOND}"):
        (ids,) = model.encode([text])
        expected = [model.placeholders[one] for one in text if one in PLACEHOLDERS]
        assert [one for one in ids if one in model.placeholders.values()] == expected
        assert model.decode_ids([ids]) == [text]
        if model_type != "char":
            (sampled,) = model.sampler(0.5, "seed").sample([text], ["1"])
            assert [one for one in sampled if one in model.placeholders.values()] == expected
