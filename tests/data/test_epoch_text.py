"""The text of an epoch: a pure function of seed, epoch, pair and repetition, for any division of the work."""

import dataclasses

import numpy as np
import pytest

from translator.config.training_section import AugmentationConfig
from translator.data.epoch_text import EpochText
from translator.data.mixture import Draws, epoch_generator

Rows = list[tuple[list[int], list[int]]]  # of each pair, the ids of both sides


def plain(text: EpochText) -> EpochText:
    return dataclasses.replace(text, augmentation=AugmentationConfig())


def draws_of(text: EpochText, epoch: int = 0, times: int = 1) -> Draws:
    """Each pair of the corpus, drawn so many times."""
    pairs = np.repeat(np.arange(len(text.store)), times)
    repetitions = np.tile(np.arange(times, dtype=np.int32), len(text.store))
    draws = Draws(epoch=epoch, pairs=pairs, repetitions=repetitions, changes=np.zeros((len(pairs), 0), np.bool_))
    return text.with_changes(draws, epoch_generator(text.seed, epoch))


def rows_of(text: EpochText, draws: Draws) -> Rows:
    source, target = text.ids(draws)
    sources = np.split(source.ids, np.cumsum(source.lengths)[:-1])
    targets = np.split(target.ids, np.cumsum(target.lengths)[:-1])
    return [(source.tolist(), target.tolist()) for source, target in zip(sources, targets, strict=True)]


def rows(text: EpochText, **draws: int) -> Rows:
    return rows_of(text, draws_of(text, **draws))


def decoded(text: EpochText, rows: Rows, column: int) -> list[str]:
    return text.models[column].decode_ids([row[column] for row in rows])


def test_the_ids_of_a_pair_do_not_depend_on_the_pairs_around_it(mistyped_text: EpochText) -> None:
    all_draws = draws_of(mistyped_text, epoch=3, times=2)
    expected = rows_of(mistyped_text, all_draws)
    for places in np.array_split(np.random.default_rng(1).permutation(len(all_draws.pairs)), 9):
        assert rows_of(mistyped_text, all_draws.at(places)) == [expected[place] for place in places]


def test_a_fingerprint_depends_on_the_settings(mistyped_text: EpochText) -> None:
    assert plain(mistyped_text).fingerprint("a") != mistyped_text.fingerprint("a")


def test_each_draw_of_a_pair_is_augmented_anew(mistyped_text: EpochText) -> None:
    mistyping = dataclasses.replace(mistyped_text, augmentation=AugmentationConfig(typos=0.8))
    english = decoded(mistyping, rows(mistyping, times=3), 0)
    differences = sum(first != second for first, second in zip(english[::3], english[1::3], strict=True))
    assert differences > len(english) / 9  # a third of the pairs


def test_each_epoch_changes_a_pair_anew(mistyped_text: EpochText) -> None:
    mistyping = dataclasses.replace(mistyped_text, augmentation=AugmentationConfig(typos=1.0))
    assert rows(mistyping, epoch=1) != rows(mistyping, epoch=0)


def test_only_pairs_that_are_said_to_change_do(mistyped_text: EpochText) -> None:
    augmented = dataclasses.replace(mistyped_text, augmentation=AugmentationConfig(typos=0.5, final_punctuation=0.5))
    stays = ~augmented.is_changed(draws_of(augmented))
    for row, plain_row, is_plain in zip(rows(augmented), rows(plain(augmented)), stays, strict=True):
        assert row == plain_row or not is_plain


def test_a_pair_with_an_unknown_character_keeps_its_stored_ids(
    mistyped_text: EpochText, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistyping = dataclasses.replace(mistyped_text, augmentation=AugmentationConfig(typos=1.0))
    expected = rows(plain(mistyping))
    token = expected[1][0][1]  # a frequent one
    monkeypatch.setattr("translator.data.epoch_text.UNK", token)
    for row, plain_row in zip(rows(mistyping), expected, strict=True):
        is_known = token not in plain_row[0] + plain_row[1]
        assert is_known or row == plain_row


def test_a_change_that_makes_a_side_too_long_is_undone(mistyped_text: EpochText) -> None:
    """The limit is one that half of the sources reach."""
    mistyped = dataclasses.replace(mistyped_text, augmentation=AugmentationConfig(typos=1.0))
    plain_rows = rows(plain(mistyped))
    limit = sorted(len(source) for source, _ in plain_rows)[len(plain_rows) // 2]

    # A text with a side that is too long stays plain on both sides.
    expected: Rows = []
    for mistyped_row, plain_row in zip(rows(mistyped), plain_rows, strict=True):
        fits = all(len(side) < limit for side in mistyped_row)
        expected.append(mistyped_row if fits else plain_row)
    assert rows(dataclasses.replace(mistyped, max_length=limit)) == expected
