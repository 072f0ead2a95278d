"""The steps that a text needs: leaving out the others changes nothing."""

import pytest

from translator.corpus.normalizer.characters import CharacterTable
from translator.corpus.normalizer.needed_steps import NeededSteps
from translator.corpus.normalizer.normalizer_rules import Rewriting, Row, Step
from translator.corpus.normalizer.rewriting import compile_step

TABLE = CharacterTable()
STARS = Rewriting(rows=(Row(contains="*", pattern=r"\*", replacement="+"),))
HASHES = Rewriting(only_if="[#]", rows=(Row(contains="", pattern="#", replacement="*"),))
HASHES_BY_TABLE = Rewriting(rows=(Row(contains="#", pattern="#", replacement={"#": "*"}),))
HASHES_BY_CODE = Rewriting(rows=(Row(contains="#", pattern="#", replacement=r"\052"),))
HASHES_THEN_STARS = Rewriting(rows=(*HASHES_BY_TABLE.rows, *STARS.rows))


def apply_needed(steps: list[Step], text: str) -> str:
    codes = TABLE.encode(text)
    assert codes is not None
    for change in NeededSteps([compile_step(step) for step in steps], TABLE).of(codes):
        text = change(text)
    return text


def count_needed(steps: list[Step], text: str) -> int:
    return len(NeededSteps([compile_step(step) for step in steps], TABLE).of(TABLE.encode(text) or b""))


@pytest.mark.parametrize(
    "steps",
    [[HASHES, STARS], [HASHES_BY_TABLE, STARS], [HASHES_BY_CODE, STARS], [HASHES_THEN_STARS]],
    ids=["template", "table", "escape in a template", "rows of one step"],
)
def test_a_step_is_needed_if_an_earlier_one_adds_what_it_looks_for(steps: list[Step]) -> None:
    assert apply_needed(steps, "a # b") == "a + b"


def test_a_step_is_needed_if_a_function_adds_what_it_looks_for() -> None:
    guillemets = Rewriting(rows=(Row(contains="«", pattern="«", replacement="<"),))
    assert apply_needed(["pair_guillemets-1", guillemets], 'گفت "بله"') == "گفت <بله»"


@pytest.mark.parametrize("step", [HASHES, STARS, "join_quotes-1", "repair_decoding-1"])
def test_a_step_is_left_out_of_a_text_without_its_characters(step: Step) -> None:
    assert count_needed([step], "a plain text. ۱۲ کتاب") == 0


@pytest.mark.parametrize("pattern", [None, "[^a]", "[#]x", "a|[#]"])
def test_only_a_class_alone_tells_which_characters_a_step_needs(pattern: str | None) -> None:
    step = Rewriting(only_if=pattern, rows=(Row(contains="", pattern="a", replacement="b"),))
    assert count_needed([step], "xyz") == 1


@pytest.mark.parametrize("text", ["-x-", "a -x-", "a-x-", "--x-", "- -x-b", "\n-x-"])
def test_a_pattern_that_begins_with_its_hyphen_matches_the_same(text: str) -> None:
    row = Row(contains="-", pattern=r"(?<!\S)-x-(?!\S)", replacement="+")
    alternatives = Row(contains="-", pattern=r"(?<!\S)-x-(?!\S)|never", replacement="+")
    step = compile_step(Rewriting(rows=(row,)))
    step_of_alternatives = compile_step(Rewriting(rows=(alternatives,)))
    assert step.change(text) == step_of_alternatives.change(text)
