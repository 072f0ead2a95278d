"""A glossary: which terms are found, and which lines of a file are refused."""

from pathlib import Path

import pytest

from translator.errors import InputError
from translator.subword.glossary import Glossary
from translator.subword.placeholders import PLACEHOLDERS, cut_out

TERMS = {"neural network": "شبکهٔ عصبی", "network": "شبکه", "Apple": "اپل", "C++": "سی‌پلاس‌پلاس", "gate": "دروازه"}
GLOSSARY = Glossary(TERMS)


@pytest.mark.parametrize(
    ("source", "matches"),
    [
        ("A neural network is a network.", ["neural network", "network"]),
        ("Neural  Network", ["Neural  Network"]),
        ("An apple of Apple", ["Apple"]),
        ("Networks and networked things", []),
        ("He writes C++ code; C++!", ["C++", "C++"]),
        ("Gate gate GATE", ["Gate", "gate", "GATE"]),
        ("", []),
    ],
)
def test_the_longest_terms_between_borders_of_words_are_found(source: str, matches: list[str]) -> None:
    assert [match[0] for match in GLOSSARY.pattern.finditer(source)] == matches
    assert all(GLOSSARY.translation(part) for part in matches)


def test_a_term_and_a_number_get_placeholders_in_their_order() -> None:
    text, copied = cut_out("The gate has 12 locks, and gate 3 none.", PLACEHOLDERS, str, GLOSSARY.pattern)
    assert text == "The \ue000 has \ue001 locks, and \ue002 \ue003 none."
    assert list(copied.values()) == ["gate", "12", "gate", "3"]


def test_kept_terms_are_counted() -> None:
    assert GLOSSARY.kept("a gate, a gate and a network", "دروازه و شبکه") == (2, 3)


def read(folder: Path, text: str, encoding: str = "utf-8") -> Glossary:
    file = folder / "terms.tsv"
    file.write_text(text, encoding, "surrogateescape")
    return Glossary.read(file)


def test_a_file_has_a_term_on_each_line(tmp_path: Path) -> None:
    glossary = read(tmp_path, "gate\tدروازه\n\n neural  network \tشبکهٔ  عصبی\ngate\tدروازه\n", "utf-8-sig")
    assert glossary.terms == {"gate": "دروازه", "neural network": "شبکهٔ عصبی"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gate\tدروازه\udcff\n", "is not UTF-8"),
        ("gate\nhouse\tخانه\nx\ty\tz\n", "has 2 mistakes:\n  line 1: not a term, a tab .*\n  line 3: not a term"),
        ("gate\tدروازه\ngate\tدر\n", "line 2: `gate` has another translation above, `دروازه`"),
        ("\n", "has no terms"),
    ],
)
def test_wrong_lines_are_named_with_their_numbers(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)
