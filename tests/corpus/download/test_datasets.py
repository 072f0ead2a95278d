"""The table of corpora, and the lines that a recipe takes to use one."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from translator.config import SourceConfig
from translator.corpus.download import DATASETS, dataset_table, recipe_snippet
from translator.corpus.download.datasets import Dataset
from translator.errors import InputError


@pytest.mark.parametrize("dataset", DATASETS.values(), ids=list(DATASETS))
def test_an_entry_is_complete(dataset: Dataset) -> None:
    for address in (dataset.address, dataset.home):
        assert urlsplit(address).scheme == "https" and urlsplit(address).hostname
    assert dataset.address.endswith(dataset.format)
    assert Path(dataset.file_name).name == dataset.file_name and dataset.file_name.endswith(dataset.format)
    assert dataset.sha256 is None or (len(dataset.sha256) == 64 and int(dataset.sha256, 16))
    assert all(bool(place) == (dataset.format == "tar.gz") for place in dataset.members.values())


def test_the_licences() -> None:
    assert {name: dataset.licence for name, dataset in DATASETS.items()} == {
        "mizan": "CC BY 4.0",
        "tatoeba": "CC BY 2.0 FR",
        "flores200": "CC BY-SA 4.0",
    }


@pytest.mark.parametrize("name", DATASETS)
def test_the_lines_for_a_recipe_are_valid_and_name_what_is_fetched(name: str) -> None:
    folder, dataset = Path("my data/پیکره"), DATASETS[name]
    text = recipe_snippet(name, folder)
    assert text.startswith(f"# {dataset.title}; licence: {dataset.licence}\n")
    sections = yaml.safe_load(text)
    entries = [entry for section in sections.values() for entries in section.values() for entry in entries]
    sources = [SourceConfig.model_validate(entry) for entry in entries]
    fetched = {str(folder / dataset.file_name)} | {
        str(folder / name / place) for place in dataset.members.values() if place
    }
    for source in sources:
        paths = {source.path, source.source_path, source.target_path} - {None}
        assert paths and paths <= fetched
        assert {source.source_member, source.target_member} - {None} <= set(dataset.members)


def test_the_lines_for_mizan() -> None:
    assert recipe_snippet("mizan", Path("data")).splitlines()[1:] == [
        "corpus:",
        "  sources:",
        "  - name: mizan",
        "    path: data/mizan.zip",
    ]


def test_the_table_names_all(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = dataset_table().splitlines()
    assert [line.split()[0] for line in lines[2:]] == list(DATASETS)
    assert "59 MB" in lines[2] and "not known" in lines[3] and "26 MB" in lines[4]


def test_an_unknown_name() -> None:
    with pytest.raises(InputError, match="no corpus `x`"):
        recipe_snippet("x", Path("data"))
