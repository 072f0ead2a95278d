"""Tags go around a translation, in pairs; entities become their signs."""

from pathlib import Path

import pytest
import yaml

from translator.subword.markup import cut_tags, split_at_breaks, unescaped, without_tags

EXAMPLES = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "parts"), EXAMPLES["tags"])
def test_tags_are_taken_off_in_pairs_and_nested(text: str, parts: list[str]) -> None:
    assert list(cut_tags(text)) == parts
    assert without_tags(text) == parts[1]


def test_a_text_is_split_at_tags_that_part_sentences() -> None:
    assert split_at_breaks("a.<br/>b. <P> c <b>d</b>") == ["a.", "<br/>", "b.", " <P> ", "c <b>d</b>"]


@pytest.mark.parametrize(("text", "plain"), EXAMPLES["entities"])
def test_an_entity_becomes_its_sign_but_not_in_code(text: str, plain: str) -> None:
    assert unescaped(text) == plain
