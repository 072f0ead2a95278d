"""Sampled text: decided only by seed, epoch and sentence, made ahead, with no files left beside the prepared data."""

import contextlib
import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from translator.config.training_section import AugmentationConfig
from translator.data import epoch_sampling
from translator.data.epoch_sampling import EpochDraws, EpochSampler, sampled_epochs
from translator.data.mixture import Numbers
from translator.data.token_store import PairStore
from translator.subword import SubwordModel, SubwordPair

Rows = list[list[list[int]]]  # of each pair, the ids of both sides


def rows(pairs: PairStore) -> Rows:
    rows = []
    for number in range(len(pairs)):
        source, target = pairs[number]
        rows.append([source.tolist(), target.tolist()])
    return rows


def draws_of(counts: dict[str, Numbers]) -> EpochDraws:
    """The draws of an epoch that takes each pair of a source as often as its count says."""
    starts = np.cumsum([0, *map(len, counts.values())])
    counts_of_all = np.concatenate(list(counts.values()))
    numbers = np.repeat(np.arange(len(counts_of_all), dtype=np.int32), counts_of_all)
    return EpochDraws(names=tuple(counts), starts=starts, numbers=numbers)


def draws(sampler: EpochSampler, times: int = 1) -> EpochDraws:
    names = sampler.corpus.names("train")
    return draws_of({name: np.full(sampler.corpus.count("train", name), times) for name in names})


def sampled_rows(sampler: EpochSampler, folder: Path, epoch: int = 0, processes: int = 1, times: int = 1) -> Rows:
    return drawn_rows(sampler, folder, draws(sampler, times), epoch, processes)


def drawn_rows(sampler: EpochSampler, folder: Path, draws: EpochDraws, epoch: int = 0, processes: int = 1) -> Rows:
    with contextlib.closing(sampler.sample([(epoch, draws)], processes)) as blocks:
        sampler.write(blocks, draws, folder)
    return rows(PairStore.open(folder, draws.names))


def models(sampler: EpochSampler) -> tuple[SubwordModel, SubwordModel]:
    subword = SubwordPair.load(sampler.subword_folder)
    return subword.source, subword.target


def texts(sampler: EpochSampler, column: int) -> list[str]:
    """Return all training text of the source side (column 0) or the target side (1)."""
    pairs = itertools.chain.from_iterable(sampler.corpus.pairs("train", name) for name in sampler.corpus.names("train"))
    return [pair[column] for pair in pairs]


def decoded(sampler: EpochSampler, sampled: Rows, column: int) -> list[str]:
    return models(sampler)[column].decode_ids([row[column] for row in sampled])


def differences(first: Sequence[object], second: Sequence[object]) -> int:
    return sum(a != b for a, b in zip(first, second, strict=True))


def middle_length(rows_of_ids: Sequence[Sequence[int]]) -> int:
    return sorted(map(len, rows_of_ids))[len(rows_of_ids) // 2]


# --- sampled pieces ---


@pytest.mark.parametrize("column", [0, 1])
def test_sampling_keeps_the_text(sampler: EpochSampler, tmp_path: Path, column: int) -> None:
    assert decoded(sampler, sampled_rows(sampler, tmp_path), column) == texts(sampler, column)


@pytest.mark.parametrize("column", [0, 1])
def test_sampling_cuts_most_sentences_into_other_pieces(sampler: EpochSampler, tmp_path: Path, column: int) -> None:
    plain_rows = models(sampler)[column].encode(texts(sampler, column))
    ids = [row[column] for row in sampled_rows(sampler, tmp_path)]
    assert differences(ids, plain_rows) > len(ids) / 2


def test_samples_do_not_depend_on_the_number_of_processes(sampler: EpochSampler, tmp_path: Path) -> None:
    assert sampled_rows(sampler, tmp_path, processes=2) == sampled_rows(sampler, tmp_path)


def test_samples_do_not_depend_on_the_size_of_a_block(
    sampler: EpochSampler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = sampled_rows(sampler, tmp_path)
    monkeypatch.setattr(epoch_sampling, "_SENTENCES", 7)
    assert sampled_rows(sampler, tmp_path) == expected


def test_each_epoch_has_other_samples(sampler: EpochSampler, tmp_path: Path) -> None:
    assert sampled_rows(sampler, tmp_path, epoch=5) != sampled_rows(sampler, tmp_path, epoch=4)


def test_each_seed_has_other_samples(sampler: EpochSampler, tmp_path: Path) -> None:
    reseeded = dataclasses.replace(sampler, seed=4)
    assert sampled_rows(reseeded, tmp_path) != sampled_rows(sampler, tmp_path)


def test_a_sample_that_is_too_long_is_replaced_by_the_plain_pieces(sampler: EpochSampler, tmp_path: Path) -> None:
    free_rows = [source for source, _ in sampled_rows(sampler, tmp_path)]
    plain_rows = models(sampler)[0].encode(texts(sampler, 0))
    limit = middle_length(free_rows)
    expected = []
    for free_row, plain_row in zip(free_rows, plain_rows, strict=True):
        is_too_long = len(free_row) >= limit
        expected.append(plain_row if is_too_long else free_row)

    limited = dataclasses.replace(sampler, max_length=limit)
    limited_rows = [source for source, _ in sampled_rows(limited, tmp_path)]
    assert limited_rows == expected


# --- fingerprints ---


@pytest.mark.parametrize("change", [{"strength": 0.4}, {"augmentation": AugmentationConfig(typos=0.5)}])
def test_a_fingerprint_depends_on_the_settings(sampler: EpochSampler, change: dict[str, Any]) -> None:
    assert dataclasses.replace(sampler, **change).fingerprint("a") != sampler.fingerprint("a")


def test_a_fingerprint_depends_on_the_tokens(sampler: EpochSampler) -> None:
    assert sampler.fingerprint("a") != sampler.fingerprint("b")


# --- several draws of a pair ---


@pytest.fixture
def mistyping(sampler: EpochSampler) -> EpochSampler:
    return dataclasses.replace(sampler, augmentation=AugmentationConfig(typos=0.8))


def test_the_first_draw_does_not_depend_on_the_number_of_draws(mistyping: EpochSampler, tmp_path: Path) -> None:
    assert sampled_rows(mistyping, tmp_path, times=3)[::3] == sampled_rows(mistyping, tmp_path)


def test_each_draw_of_a_pair_is_augmented_anew(mistyping: EpochSampler, tmp_path: Path) -> None:
    english = decoded(mistyping, sampled_rows(mistyping, tmp_path, times=3), 0)
    assert differences(english[::3], english[1::3]) > len(english) / 9  # a third of the pairs


def test_each_draw_of_a_pair_is_sampled_anew(mistyping: EpochSampler, tmp_path: Path) -> None:
    persian = [row[1] for row in sampled_rows(mistyping, tmp_path, times=3)]
    assert differences(persian[::3], persian[1::3]) > len(persian) / 9


def test_all_draws_of_a_pair_have_the_same_target_text(mistyping: EpochSampler, tmp_path: Path) -> None:
    persian = decoded(mistyping, sampled_rows(mistyping, tmp_path, times=3), 1)
    assert persian[::3] == persian[1::3] == persian[2::3]


def test_each_pair_is_drawn_as_often_as_its_count_says(mistyping: EpochSampler, tmp_path: Path) -> None:
    # No pair of the first source, and those of the second one 0, 1, 2, 0, 1, 2 … times.
    first_counts = np.zeros(mistyping.corpus.count("train", "one"), np.int64)
    second_counts = np.arange(mistyping.corpus.count("train", "two")) % 3
    counts = {"one": first_counts, "two": second_counts}

    # Each pair has the first of its three draws.
    thrice_rows = sampled_rows(mistyping, tmp_path, times=3)
    expected = []
    for pair, count in enumerate(second_counts, start=len(first_counts)):
        first_draw = 3 * pair
        expected += thrice_rows[first_draw : first_draw + count]
    assert drawn_rows(mistyping, tmp_path, draws_of(counts)) == expected


# --- augmentation ---


@pytest.fixture
def unsampled(sampler: EpochSampler) -> EpochSampler:
    return dataclasses.replace(sampler, strength=0.0)


@pytest.fixture
def augmented(unsampled: EpochSampler) -> EpochSampler:
    augmentation = AugmentationConfig(typos=0.5, final_punctuation=0.5, numbers=0.5)
    return dataclasses.replace(unsampled, augmentation=augmentation)


def test_without_strength_and_augmentation_an_epoch_has_the_plain_pieces(
    unsampled: EpochSampler, tmp_path: Path
) -> None:
    plain_rows = models(unsampled)[0].encode(texts(unsampled, 0))
    assert [row[0] for row in sampled_rows(unsampled, tmp_path)] == plain_rows


def test_augmentation_changes_a_part_of_the_text(augmented: EpochSampler, tmp_path: Path) -> None:
    english = texts(augmented, 0)
    augmented_english = decoded(augmented, sampled_rows(augmented, tmp_path), 0)
    assert len(english) / 8 < differences(augmented_english, english) < len(english)


def test_augmented_text_does_not_depend_on_the_number_of_processes(augmented: EpochSampler, tmp_path: Path) -> None:
    assert sampled_rows(augmented, tmp_path, processes=2) == sampled_rows(augmented, tmp_path)


def test_each_epoch_is_augmented_anew(augmented: EpochSampler, tmp_path: Path) -> None:
    assert sampled_rows(augmented, tmp_path, epoch=1) != sampled_rows(augmented, tmp_path, epoch=0)


def test_sampled_pieces_have_the_augmented_text(augmented: EpochSampler, tmp_path: Path) -> None:
    sampled = dataclasses.replace(augmented, strength=0.5)
    expected = decoded(augmented, sampled_rows(augmented, tmp_path), 0)
    assert decoded(sampled, sampled_rows(sampled, tmp_path), 0) == expected


@pytest.mark.parametrize("strength", [0.0, 0.5])
def test_an_augmentation_that_makes_a_side_too_long_is_undone(
    sampler: EpochSampler, tmp_path: Path, strength: float
) -> None:
    augmented = dataclasses.replace(sampler, strength=strength, augmentation=AugmentationConfig(typos=1.0))
    source_model, target_model = models(augmented)
    plain_rows = source_model.encode(texts(augmented, 0))
    plain_texts = source_model.decode_ids(plain_rows)

    # The same epoch without a limit, and with one that half of the plain sources reach.
    limit = middle_length(plain_rows)
    limited = dataclasses.replace(augmented, max_length=limit)
    free_texts = decoded(augmented, sampled_rows(augmented, tmp_path), 0)
    limited_texts = decoded(limited, sampled_rows(limited, tmp_path), 0)

    # A text is the augmented one or the plain one, and often the plain one.
    assert differences(free_texts, limited_texts) > 10
    for text, free_text, plain_text in zip(limited_texts, free_texts, plain_texts, strict=True):
        assert text in (free_text, plain_text)

    # The other side decides as well: a long target, which typos do not change, keeps the source plain.
    long_targets = [len(row) >= limit for row in target_model.encode(texts(augmented, 1))]
    assert sum(long_targets) > 10
    for text, plain_text, target_is_long in zip(limited_texts, plain_texts, long_targets, strict=True):
        assert text == plain_text or not target_is_long


# --- epochs, one after the other ---


@pytest.mark.parametrize("processes_ahead", [1, 2])
def test_sampled_epochs_come_in_order(
    sampler: EpochSampler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes_ahead: int
) -> None:
    monkeypatch.setattr(epoch_sampling, "_WORTH_PROCESSES", 0)
    epoch_draws = draws(sampler)
    epochs = sampled_epochs(
        sampler,
        draws=lambda epoch: epoch_draws,
        first=2,
        parent=tmp_path,
        processes_ahead=processes_ahead,
    )
    with contextlib.closing(epochs):
        stores = [PairStore.open(folder, epoch_draws.names) for folder in itertools.islice(epochs, 3)]
    for epoch, store in zip((2, 3, 4), stores, strict=True):
        assert rows(store) == sampled_rows(sampler, tmp_path / "here", epoch)
