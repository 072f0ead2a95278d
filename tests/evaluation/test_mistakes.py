"""Each check finds its mistake, and leaves correct text alone; counts add up on any text."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.translated_sets import HOSTILE, translated

EXAMPLES = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "example"), [(name, example) for name, examples in EXAMPLES.items() for example in examples]
)
def test_each_check_notes_its_mistake_and_accepts_correct_text(name: str, example: dict[str, Any]) -> None:
    (notes,) = translated([example["hypothesis"]], [tuple(example["references"])], [example["source"]]).mistakes
    assert (notes.get(name) or None) == example.get("note")


def test_a_translation_is_cut_off_where_the_search_says_so() -> None:
    assert translated(["یک", "دو"], cut_off=(2,)).mistake_counts["cut_off"] == {"count": 1, "of": 2}
    assert translated(["یک", "دو"], cut_off=None).mistake_counts["cut_off"] == {"count": 0, "of": 0}


@settings(max_examples=25)
@given(st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE), min_size=1, max_size=5))
def test_a_hypothesis_equal_to_a_reference_has_no_mistakes(rows: list[tuple[str, str, str]]) -> None:
    sources, hypotheses, other_references = zip(*rows, strict=True)
    two_references = list(zip(hypotheses, other_references, strict=True))
    for references in (two_references, hypotheses):
        for notes in translated(hypotheses, references, sources).mistakes:
            assert not any(notes.values())
