"""The folder of links from which TensorBoard takes the names of the runs."""

from pathlib import Path

from scripts.show_tensorboard import link_runs


def test_each_run_has_a_link_of_its_name(tmp_path: Path) -> None:
    runs, links = tmp_path / "runs", tmp_path / "links"
    for name in ("sample", "bench/search", ".hidden/run"):
        (runs / name / "tensorboard").mkdir(parents=True)
    (runs / "sample" / "evaluation").mkdir()
    link_runs(runs, links)
    (runs / "later" / "tensorboard").mkdir(parents=True)
    link_runs(runs, links)
    found = {path.relative_to(links).as_posix(): path.resolve() for path in links.rglob("*") if path.is_symlink()}
    assert found == {name: (runs / name / "tensorboard").resolve() for name in ("sample", "bench/search", "later")}


def test_a_folder_that_is_a_run_has_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "sample" / "tensorboard").mkdir(parents=True)
    link_runs(tmp_path / "sample", tmp_path / "links")
    assert [path.name for path in (tmp_path / "links").iterdir()] == ["sample"]
