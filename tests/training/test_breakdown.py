"""Losses by length and by source, against sums by hand."""

import math

import pytest

from translator.training.breakdown import Breakdown

BREAKDOWN = Breakdown({"mizan": 10, "tep": 5})
SUMS = BREAKDOWN.sums(losses=[10.0, 35.0, 20.0], tokens=[5, 10, 20], pairs=[0, 12, 14])


def test_pairs_are_numbered_source_after_source() -> None:
    assert BREAKDOWN.sources([0, 9, 10, 14]).tolist() == [0, 0, 1, 1]


def test_the_loss_is_a_mean_over_tokens() -> None:
    assert BREAKDOWN.means(SUMS).loss == pytest.approx(65 / 35)


def test_losses_are_means_of_their_length_bucket() -> None:
    assert BREAKDOWN.means(SUMS).by_length == {"01-08": 2.0, "09-16": 3.5, "17-32": 1.0}


@pytest.mark.parametrize(("tokens", "bucket"), [(1, "01-08"), (8, "01-08"), (9, "09-16"), (64, "33-64"), (65, "65-up")])
def test_a_length_falls_into_its_bucket(tokens: int, bucket: str) -> None:
    assert list(BREAKDOWN.means(BREAKDOWN.sums([1.0], [tokens], [0])).by_length) == [bucket]


def test_losses_are_means_of_their_source() -> None:
    assert BREAKDOWN.means(SUMS).by_source == {"mizan": 2.0, "tep": pytest.approx(55 / 30)}


def test_the_mixture_is_each_sources_share_of_the_tokens() -> None:
    assert BREAKDOWN.means(SUMS).mixture == {"mizan": pytest.approx(5 / 35), "tep": pytest.approx(30 / 35)}


def test_sums_of_two_parts_add_up() -> None:
    first = BREAKDOWN.sums([10.0], [5], [0])
    second = BREAKDOWN.sums([35.0, 20.0], [10, 20], [12, 14])
    assert (first + second).tolist() == SUMS.tolist()


def test_no_sentence_has_no_means() -> None:
    means = BREAKDOWN.means(BREAKDOWN.sums([], [], []))
    assert math.isnan(means.loss)
    assert means[1:] == ({}, {}, {})
