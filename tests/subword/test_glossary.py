"""A glossary: which terms are found."""

from pathlib import Path

import pytest
import yaml

from translator.subword.glossary import Glossary
from translator.subword.placeholders import PLACEHOLDERS, cut_out

TERMS = {
    "neural network": "شبکهٔ عصبی",
    "network": "شبکه",
    "Apple": "اپل",
    "C++": "سی‌پلاس‌پلاس",
    "gate": "دروازه",
    "gate keeper": "دروازه‌بان",
}
GLOSSARY = Glossary(TERMS)
EXAMPLES = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("source", "matches"), EXAMPLES["terms"])
def test_the_longest_terms_between_borders_of_words_are_found(source: str, matches: list[str]) -> None:
    assert [match[0] for match in GLOSSARY.pattern.finditer(source)] == matches
    assert all(GLOSSARY.translation(part) for part in matches)


def test_a_term_and_a_number_get_placeholders_in_their_order() -> None:
    text, copied = cut_out("The gate has 12 locks, and gate 3 none.", PLACEHOLDERS, str, GLOSSARY.pattern)
    assert text == "The \ue000 has \ue001 locks, and \ue002 \ue003 none."
    assert list(copied.values()) == ["gate", "12", "gate", "3"]


def test_a_file_has_a_term_on_each_line(tmp_path: Path) -> None:
    file = tmp_path / "terms.tsv"
    file.write_text("gate\tدروازه\n\n neural  network \tشبکهٔ  عصبی\ngate\tدروازه\n", encoding="utf-8-sig")
    assert Glossary.read(file).terms == {"gate": "دروازه", "neural network": "شبکهٔ عصبی"}
