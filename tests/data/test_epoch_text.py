"""The text of an epoch: a pure function of seed, epoch, pair and repetition, for any division of the work."""

import dataclasses
from collections.abc import Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np
import pytest

from translator.config.training_section import AugmentationConfig
from translator.data.epoch_text import EpochText
from translator.data.mixture import Draws

Rows = list[tuple[list[int], list[int]]]  # of each pair, the ids of both sides


def draws_of(text: EpochText, epoch: int = 0, times: int = 1) -> Draws:
    """Each pair of the corpus, drawn so many times."""
    pairs = np.repeat(np.arange(len(text.store)), times)
    repetitions = np.tile(np.arange(times, dtype=np.int32), len(text.store))
    return Draws(epoch=epoch, pairs=pairs, repetitions=repetitions)


def rows_of(text: EpochText, draws: Draws) -> Rows:
    source, target = text.ids(draws)
    sources = np.split(source.ids, np.cumsum(source.lengths)[:-1])
    targets = np.split(target.ids, np.cumsum(target.lengths)[:-1])
    return [(source.tolist(), target.tolist()) for source, target in zip(sources, targets, strict=True)]


def rows(text: EpochText, epoch: int = 0, times: int = 1) -> Rows:
    return rows_of(text, draws_of(text, epoch, times))


def lines(text: EpochText, column: int) -> list[str]:
    """Return all training text of the source side (column 0) or the target side (1)."""
    return [text.text[number][column] for number in range(len(text.store))]


def decoded(text: EpochText, sampled: Rows, column: int) -> list[str]:
    return text.models[column].decode_ids([row[column] for row in sampled])


def differences(first: Sequence[object], second: Sequence[object]) -> int:
    return sum(a != b for a, b in zip(first, second, strict=True))


def middle_length(rows_of_ids: Sequence[Sequence[int]]) -> int:
    return sorted(map(len, rows_of_ids))[len(rows_of_ids) // 2]


# --- sampled pieces ---


@pytest.mark.parametrize("column", [0, 1])
def test_sampling_keeps_the_text(sampled_text: EpochText, column: int) -> None:
    assert decoded(sampled_text, rows(sampled_text), column) == lines(sampled_text, column)


def test_the_ids_of_a_pair_do_not_depend_on_the_pairs_around_it(sampled_text: EpochText) -> None:
    text = dataclasses.replace(sampled_text, augmentation=AugmentationConfig(typos=0.5))
    all_draws = draws_of(text, epoch=3, times=2)
    expected = rows_of(text, all_draws)
    for places in np.array_split(np.random.default_rng(1).permutation(len(all_draws.pairs)), 9):
        assert rows_of(text, all_draws.at(places)) == [expected[place] for place in places]


def test_another_process_makes_the_same_ids(sampled_text: EpochText) -> None:
    text = dataclasses.replace(sampled_text, augmentation=AugmentationConfig(typos=0.5))
    expected = rows(text, epoch=2)
    copy = ForkingPickler.loads(ForkingPickler.dumps(text))
    assert rows(copy, epoch=2) == expected


def test_a_sample_that_is_too_long_is_replaced_by_the_plain_pieces(sampled_text: EpochText) -> None:
    free_rows = [source for source, _ in rows(sampled_text)]
    plain_rows = sampled_text.models[0].encode(lines(sampled_text, 0))
    limit = middle_length(free_rows)
    expected = []
    for free_row, plain_row in zip(free_rows, plain_rows, strict=True):
        is_too_long = len(free_row) >= limit
        expected.append(plain_row if is_too_long else free_row)

    limited = dataclasses.replace(sampled_text, max_length=limit)
    assert [source for source, _ in rows(limited)] == expected


# --- fingerprints ---


@pytest.mark.parametrize("change", [{"sampling": 0.4}, {"augmentation": AugmentationConfig(typos=0.5)}])
def test_a_fingerprint_depends_on_the_settings(sampled_text: EpochText, change: dict[str, Any]) -> None:
    assert dataclasses.replace(sampled_text, **change).fingerprint("a") != sampled_text.fingerprint("a")


# --- several draws of a pair ---


@pytest.fixture
def mistyping(sampled_text: EpochText) -> EpochText:
    return dataclasses.replace(sampled_text, augmentation=AugmentationConfig(typos=0.8))


def test_each_draw_of_a_pair_is_augmented_anew(mistyping: EpochText) -> None:
    english = decoded(mistyping, rows(mistyping, times=3), 0)
    assert differences(english[::3], english[1::3]) > len(english) / 9  # a third of the pairs


# --- augmentation ---


@pytest.fixture
def unsampled(sampled_text: EpochText) -> EpochText:
    return dataclasses.replace(sampled_text, sampling=0.0)


@pytest.fixture
def augmented(unsampled: EpochText) -> EpochText:
    augmentation = AugmentationConfig(typos=0.5, final_punctuation=0.5)
    return dataclasses.replace(unsampled, augmentation=augmentation)


def test_only_pairs_that_are_said_to_change_do(augmented: EpochText) -> None:
    all_draws = draws_of(augmented)
    stays = ~augmented.is_changed(all_draws)
    plain = dataclasses.replace(augmented, augmentation=AugmentationConfig())
    for row, plain_row, is_plain in zip(rows(augmented), rows(plain), stays, strict=True):
        assert row == plain_row or not is_plain


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_a_kind_of_change_is_made_at_its_rate(unsampled: EpochText, rate: float) -> None:
    text = dataclasses.replace(unsampled, augmentation=AugmentationConfig(typos=rate, final_punctuation=rate))
    chosen = np.concatenate([text.is_changed(draws_of(text, epoch)) for epoch in range(50)])
    assert chosen.mean() == pytest.approx(1 - (1 - rate) ** 2, abs=0.03)


@pytest.mark.parametrize("sampling", [0.0, 0.5])
def test_an_augmentation_that_makes_a_side_too_long_is_undone(sampled_text: EpochText, sampling: float) -> None:
    augmented = dataclasses.replace(sampled_text, sampling=sampling, augmentation=AugmentationConfig(typos=1.0))
    source_model, target_model = augmented.models
    plain_rows = source_model.encode(lines(augmented, 0))
    plain_texts = source_model.decode_ids(plain_rows)

    # The same epoch without a limit, and with one that half of the plain sources reach.
    limit = middle_length(plain_rows)
    limited = dataclasses.replace(augmented, max_length=limit)
    free_texts = decoded(augmented, rows(augmented), 0)
    limited_texts = decoded(limited, rows(limited), 0)

    # A text is the augmented one or the plain one, and often the plain one.
    assert differences(free_texts, limited_texts) > 10
    for text, free_text, plain_text in zip(limited_texts, free_texts, plain_texts, strict=True):
        assert text in (free_text, plain_text)

    # The other side decides as well: a long target, which typos do not change, keeps the source plain.
    long_targets = [len(row) >= limit for row in target_model.encode(lines(augmented, 1))]
    assert sum(long_targets) > 10
    for text, plain_text, target_is_long in zip(limited_texts, plain_texts, long_targets, strict=True):
        assert text == plain_text or not target_is_long
