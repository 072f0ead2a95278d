"""One word in three writings is one word; other words are other words."""

import pytest
from translated_sets import translated

from translator.evaluation.diagnosis.finding import Agreement
from translator.evaluation.diagnosis.half_spaces import compare, find_half_spaces


@pytest.mark.parametrize(
    ("hypothesis", "reference", "otherwise", "shared"),
    [
        ("او می‌رود.", "آن زن می‌رود.", [], 1),
        ("او می رود.", "او می‌رود.", ["می رود"], 1),
        ("او میرود.", "او می‌رود.", ["میرود"], 1),
        ("او می‌رود.", "او می رود.", ["می‌رود"], 1),
        ("او مي‌رود.", "او می‌رود.", [], 1),
        ("می، رود", "می‌رود", [], 0),
        ("نمی توانسته ام", "نمی‌توانسته‌ام", ["نمی توانسته ام"], 1),
        ("او رفت", "او می‌رود", [], 0),
        ("می‌رود و می رود", "می‌رود و می‌رود", ["می رود"], 2),
        ("می‌رود و می رود", "می رود و می‌رود", [], 2),
        ("می‌رود و می رود", "می‌رود", [], 1),
        ("کتاب‌‌ها", "کتاب‌ها", [], 1),
        ("خانه ما", "خانه ما", [], 0),
    ],
)
def test_writings_of_a_word(hypothesis: str, reference: str, otherwise: list[str], shared: int) -> None:
    found = compare(hypothesis, reference)
    assert list(found.otherwise.elements()) == otherwise
    assert found.shared == shared


def test_precision_and_recall_of_words_with_a_half_space() -> None:
    found = compare("کتاب‌ها را می‌خوانم و نمی‌روم", "کتاب‌ها را می خوانم، می‌روم، می‌آیم و می‌مانم")
    assert found.agreement == Agreement(1, 3, 4)
    assert found.agreement.precision == pytest.approx(1 / 3)
    assert found.agreement.recall == 0.25
    assert found.agreement.f1 == pytest.approx(2 / 7)


def test_of_several_references_the_best_counts() -> None:
    found = find_half_spaces(
        translated(["او می رود.", "او میرود."], [("او می‌رود.", "او می رود."), ("می‌رود", "او می‌رود!")]), 3
    )
    assert found.sentences == (2,)
    assert (found.examples[0].sentence, found.examples[0].note) == (2, "میرود")
    assert found.of == 1, "in the first sentence, the better reference has no half-space"
