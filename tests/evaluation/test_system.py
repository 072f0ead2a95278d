"""What a system is called and where its results lie: unlike that of any other system."""

from pathlib import Path

import pytest

from translator.config import SearchConfig
from translator.evaluation import System, search_label
from translator.run_folder import RunFolder


def ensemble(*folders: Path) -> Path:
    """Return the folder of the results of an ensemble."""
    return System(tuple(RunFolder(folder) for folder in folders)).folder


def test_an_ensemble_is_named_by_its_runs(tmp_path: Path) -> None:
    first = tmp_path / "a"
    assert System((RunFolder(first),)).folder == first / "evaluation"
    assert ensemble(first, tmp_path / "b") == first / "evaluation" / "a+b"
    assert ensemble(first, first / ".." / "b") == ensemble(first, tmp_path / "b")


def test_ensembles_of_other_runs_have_other_folders(tmp_path: Path) -> None:
    """Runs of one name in other folders, names with a plus, and names too long for a file system."""
    first, long = tmp_path / "a", "x" * 90
    folders = [
        ensemble(first, tmp_path / "b"),
        ensemble(first, tmp_path / "seed2" / "b"),
        ensemble(first, tmp_path / "seed3" / "b"),
        ensemble(first, tmp_path / "b+c"),
        ensemble(first, tmp_path / "b", tmp_path / "c"),
        ensemble(first, *(tmp_path / f"{long}{number}" for number in range(3))),
        ensemble(first, *(tmp_path / f"{long}{number}" for number in range(4))),
    ]
    assert len(set(folders)) == len(folders)
    assert all(folder.parent == first / "evaluation" and len(folder.name) < 120 for folder in folders)


def test_an_ensemble_keeps_its_folder_where_its_runs_are_moved_together(tmp_path: Path) -> None:
    before, after = (ensemble(tmp_path / at / "a", tmp_path / at / "seed2" / "a").name for at in ("here", "there"))
    assert before == after


@pytest.mark.parametrize(
    ("config", "label"),
    [
        (SearchConfig(method="greedy"), "greedy"),
        (SearchConfig(), "beam-5"),
        (SearchConfig(batch_size=3, processes=2), "beam-5"),
        (SearchConfig(beam_size=2, length_penalty=0.6, max_length_ratio=3), "beam-2-penalty-0.6-ratio-3"),
        (SearchConfig(length_normalization="average", min_length_ratio=0.5), "beam-5-average-min-ratio-0.5"),
        (SearchConfig(method="greedy", no_repeat_ngram=3, precision="bf16"), "greedy-no-repeat-3-bf16"),
        (
            SearchConfig(method="sampling", temperature=0.7, top_k=9, top_p=0.9, seed=4),
            "sampling-seed-4-temperature-0.7-top-k-9-top-p-0.9",
        ),
    ],
)
def test_search_labels_tell_settings_apart(config: SearchConfig, label: str) -> None:
    assert search_label(config) == label


def test_the_engine_is_part_of_the_label() -> None:
    assert search_label(SearchConfig(method="greedy"), "ctranslate2") == "greedy-ctranslate2"
