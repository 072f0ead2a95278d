"""Preparation killed at any instant leaves no half product, and the next run gives what an uninterrupted one gives."""

import multiprocessing
import random
import shutil
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from toy import letters, write_pairs

from bench.faults import Faults, Killed
from translator.config import Config, parse_config
from translator.data import DataHandler

INSTANTS = 20
CONTEXT = multiprocessing.get_context("forkserver")
RECIPE = """
run: {{directory: "{folder}/run"}}
corpus:
  sources: [{{name: words, path: "{folder}/words.tsv"}}, {{name: more, path: "{folder}/more.tsv"}}]
  filters: {{min_target_script: null, max_untranslated: null}}
  split: {{validation: 100, test: 100}}
  prepared_directory: "{folder}/{prepared}"
  workers: {workers}
subword: {{model_type: char, vocabulary_size: 60}}
"""


def recipe(folder: Path, prepared: str, workers: int) -> Config:
    return parse_config(RECIPE.format(folder=folder, prepared=prepared, workers=workers), "recipe")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def prepare(config: Config) -> None:
    DataHandler(config)


def start(config: Config) -> BaseProcess:
    """Prepare in a process of its own, forked from one that has imported everything and has no threads."""
    process = CONTEXT.Process(target=prepare, args=(config,))
    process.start()
    return process


@pytest.mark.parametrize(("workers", "instants"), [(1, INSTANTS), (2, 4)])
def test_killed_preparation_ends_like_an_uninterrupted_one(tmp_path: Path, workers: int, instants: int) -> None:
    for seed, name in enumerate(("words", "more")):
        sentences = [" ".join(words) for words in zip(*[iter(letters(2400, seed=seed))] * 3, strict=True)]
        write_pairs(tmp_path / f"{name}.tsv", [(sentence, sentence) for sentence in sentences])
    warm_up = CONTEXT.Process(target=time.time)  # starts the process that is forked
    warm_up.start()
    warm_up.join()
    began = time.perf_counter()
    start(recipe(tmp_path, "whole", workers)).join()
    seconds = time.perf_counter() - began
    expected = contents(tmp_path / "whole")
    assert {name.split("-")[0] for name in expected} == {"corpus", "subword", "tokens"}
    chance = random.Random(workers)
    torn = 0
    for number in range(instants):
        folder = f"killed-{number}"
        child = start(recipe(tmp_path, folder, workers))
        time.sleep(seconds * chance.random())
        child.kill()
        child.join()
        found = {name: content for name, content in contents_of(tmp_path / folder).items() if not name.startswith(".")}
        assert found.items() <= expected.items()  # what is there under its name is whole
        torn += found != expected
        DataHandler(recipe(tmp_path, folder, 1))
        assert contents(tmp_path / folder) == expected
    assert torn >= instants / 3


def test_killed_at_operations_on_files_no_folder_is_half_there(tmp_path: Path) -> None:
    """Subword models and stores of so little text are made too quickly to be hit by chance."""
    for seed, name in enumerate(("words", "more")):
        write_pairs(tmp_path / f"{name}.tsv", [(word, word) for word in letters(300, seed=seed)])
    config = recipe(tmp_path, "prepared", 1)
    DataHandler(config)
    prepared = tmp_path / "prepared"
    expected = contents(prepared)
    made = [*prepared.glob("subword-*"), *prepared.glob("tokens-*")]
    for folder in made:
        shutil.rmtree(folder)
    with Faults(prepared) as counted:
        DataHandler(config)
    assert len(counted.operations) > 3 * 8, "each of eight stores has three files"
    for at in range(1, len(counted.operations) + 1, 5):
        for folder in made:
            shutil.rmtree(folder, ignore_errors=True)
        with Faults(prepared, at), pytest.raises(Killed):
            DataHandler(config)
        found = {name: content for name, content in contents(prepared).items() if not name.startswith(".")}
        assert found.items() <= expected.items(), counted.operations[at - 1]
    DataHandler(config)
    assert contents(prepared) == expected


def contents_of(folder: Path) -> dict[str, bytes]:
    return contents(folder) if folder.exists() else {}
