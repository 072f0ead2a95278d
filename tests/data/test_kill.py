"""Preparation killed at any instant leaves no half product, and the next run gives what an uninterrupted one gives."""

import shutil
from pathlib import Path

import pytest
from faults import Faults, Killed
from toy import letters, write_pairs

from translator.config import Config, parse_config
from translator.data import DataHandler

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


def test_killed_at_operations_on_files_no_folder_is_half_there(tmp_path: Path) -> None:
    """Subword models and stores of so little text are made too quickly to be hit by chance."""
    for seed, name in enumerate(("words", "more")):
        write_pairs(tmp_path / f"{name}.tsv", [(word, word) for word in letters(300, seed=seed)])
    config = recipe(tmp_path, "prepared", 1)
    DataHandler(config).prepare()
    prepared = tmp_path / "prepared"
    expected = contents(prepared)
    made = [*prepared.glob("subword-*"), *prepared.glob("tokens-*")]
    for folder in made:
        shutil.rmtree(folder)
    with Faults(prepared) as counted:
        DataHandler(config).prepare()
    assert len(counted.operations) > 3 * 8, "each of eight stores has three files"
    for at in range(1, len(counted.operations) + 1, 5):
        for folder in made:
            shutil.rmtree(folder, ignore_errors=True)
        with Faults(prepared, at), pytest.raises(Killed):
            DataHandler(config).prepare()
        found = {name: content for name, content in contents(prepared).items() if not name.startswith(".")}
        assert found.items() <= expected.items(), counted.operations[at - 1]
    DataHandler(config).prepare()
    assert contents(prepared) == expected
