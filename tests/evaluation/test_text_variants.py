"""Each text variant forgives more differences than the last; labels name changed rules."""

import pytest

from translator.config import NormalizationConfig
from translator.evaluation.text_variants import text_variants


@pytest.mark.parametrize(
    ("hypothesis", "reference", "differs"),
    [
        ("او می‌رود .", "او می‌رود .", (False, False, False)),
        ("او مي‌رود", "او می‌رود", (True, False, False)),
        ("او می رود", "او می‌رود", (True, True, False)),
        ("او میرود", "او می‌رود", (True, True, True)),
    ],
)
def test_each_text_variant_forgives_more_differences(
    hypothesis: str, reference: str, differs: tuple[bool, ...]
) -> None:
    """Raw: nothing. Normalized: Arabic letters. ZWNJ as space: also a half-space typed as a space, not one left out."""
    spellings = text_variants(NormalizationConfig()).values()
    assert tuple(spell(hypothesis) != spell(reference) for spell in spellings) == differs


def test_labels_name_the_changed_rules() -> None:
    labels = list(text_variants(NormalizationConfig(digits="ascii")))
    assert labels == [
        "raw",
        "normalizer-3 on both sides digits=ascii",
        "normalizer-3, ZWNJ as space, on both sides digits=ascii",
    ]
