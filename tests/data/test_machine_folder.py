"""The files of an epoch: made once on a machine, deleted by its last rank, and no private memory for each pair."""

import contextlib
import dataclasses
import tracemalloc
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest

from tests.support.sampling_recipe import SamplingRecipe
from translator.data import DataHandler, DataPosition, mapped_numbers, packing
from translator.data.batch import StepBatches
from translator.data.epoch_sampling import EpochSampler
from translator.data.machine_folder import MachineFolder
from translator.data.token_store import TokenWriter
from translator.data.training_batches import TrainingBatches
from translator.errors import Interrupted, StorageError
from translator.subword.flat_rows import FlatRows


def generated_batches(folder: Path, count: int) -> TrainingBatches:
    """The batches of `count` pairs of 1 to 9 tokens, whose stores are written to `folder`."""
    lengths = np.random.default_rng(0).integers(1, 10, count)
    sentences = FlatRows(ids=np.full(int(lengths.sum()), 7, np.int32), lengths=lengths)
    for side in ("en", "fa"):
        with TokenWriter(folder / f"all.{side}", 8) as writer:
            writer.append(sentences)
    return TrainingBatches(
        token_folder=folder,
        sources=("all",),
        sides=("en", "fa"),
        row_length=64,
        rows=2,
        drawn=(count,),
        seed=0,
        sampler=None,
        prepared_directory=folder,
        processes=1,
    )


@pytest.fixture
def sampled_batches(sampling_recipe: SamplingRecipe) -> TrainingBatches:
    return DataHandler(sampling_recipe()).prepare().training_batches


@pytest.fixture(params=["plain", "sampled"])
def batches(request: pytest.FixtureRequest, tmp_path: Path, sampled_batches: TrainingBatches) -> TrainingBatches:
    """Each test with it runs twice: with stored ids, and with sampled pieces."""
    return generated_batches(tmp_path / "tokens", 100) if request.param == "plain" else sampled_batches


def prepared_names(batches: TrainingBatches) -> set[str]:
    return {path.name for path in batches.prepared_directory.iterdir()}


def test_the_files_of_the_epochs_end_with_the_iteration(batches: TrainingBatches) -> None:
    before = prepared_names(batches)
    with contextlib.closing(batches.steps(DataPosition(), 1)) as steps:
        next(steps)
        assert len(prepared_names(batches)) == len(before) + 1
    assert prepared_names(batches) == before


def steps_of_rank(batches: TrainingBatches, folder: Path, rank: int) -> Generator[StepBatches, None, None]:
    """The steps of one of two ranks that share a machine."""
    machine = MachineFolder(folder, local_rank=rank, local_world_size=2)
    return batches.steps(DataPosition(), accumulation=1, rank=rank, world_size=2, machine=machine)


def test_the_last_rank_of_a_machine_deletes_an_epoch(batches: TrainingBatches, tmp_path: Path) -> None:
    first_rank = steps_of_rank(batches, tmp_path, rank=0)
    last_rank = steps_of_rank(batches, tmp_path, rank=1)
    epoch_folder = tmp_path / "epoch-0"
    with contextlib.closing(first_rank), contextlib.closing(last_rank):
        next(first_rank)
        assert epoch_folder.is_dir()
        next(last_rank)
        assert not epoch_folder.exists()


def test_a_stopped_iteration_leaves_no_files(batches: TrainingBatches) -> None:
    before = prepared_names(batches)

    def stop() -> None:
        raise Interrupted(15)

    with pytest.raises(Interrupted):
        next(batches.steps(DataPosition(), 1, check=stop))
    assert prepared_names(batches) == before


def test_failed_sampling_leaves_no_files(
    sampled_batches: TrainingBatches, sampler: EpochSampler, tmp_path: Path
) -> None:
    before = prepared_names(sampled_batches)
    missing_corpus = dataclasses.replace(sampler.corpus, directory=tmp_path / "missing")
    failing_sampler = dataclasses.replace(sampler, corpus=missing_corpus)
    failing_batches = dataclasses.replace(sampled_batches, sampler=failing_sampler)
    with pytest.raises(StorageError, match=r"one\.en is damaged \(the file is missing\)"):
        next(failing_batches.steps(DataPosition(), 1))
    assert prepared_names(sampled_batches) == before


def peak_of_planning(folder: Path, count: int) -> int:
    """Return the peak of private memory, in bytes, until the first batch of an epoch of `count` pairs."""
    batches = generated_batches(folder, count)
    tracemalloc.start()
    with contextlib.closing(batches.steps(DataPosition(), 1)) as steps:
        next(steps)
        peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_the_memory_of_planning_does_not_grow_with_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped_numbers, "BLOCK", 512)
    monkeypatch.setattr(packing, "_ROWS_AT_ONCE", 32)
    peak_of_planning(tmp_path / "first", 2_000)  # libraries keep some memory at their first use
    small_peak = peak_of_planning(tmp_path / "small", 2_000)
    large_peak = peak_of_planning(tmp_path / "large", 32_000)
    assert large_peak - small_peak < 30_000, "a byte for each further pair; an array of numbers takes 4 or 8"
