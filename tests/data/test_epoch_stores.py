"""Stores of sampled epochs: made ahead, at most two, apart from other runs, and nothing left behind."""

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from translator.data import epoch_stores
from translator.data.epoch_stores import EpochStores, _Ahead, _own_folder
from translator.data.pair_store import PairStore
from translator.data.sampling import EpochSampler
from translator.errors import Interrupted, StorageError


def rows(pairs: PairStore) -> list[list[list[int]]]:
    return [[side.tolist() for side in pairs[number]] for number in range(len(pairs))]


def expected(sampler: EpochSampler, folder: Path, epoch: int) -> list[list[list[int]]]:
    """Return the pairs of an epoch, sampled here and now."""
    sampler.write(epoch, folder)
    return rows(PairStore.open(folder, sampler.corpus.names("train")))


def hidden(folder: Path) -> list[str]:
    """Return what lies in the hidden folders of `folder`."""
    return sorted(file.name for file in folder.glob(".sampled-*/*"))


def nothing() -> None:
    """Let the work go on."""


def test_a_small_epoch_is_sampled_when_it_is_asked_for(sampler: EpochSampler, tmp_path: Path) -> None:
    with EpochStores(sampler, tmp_path / "prepared") as stores:
        for epoch in (2, 3, 7):
            assert rows(stores.take(epoch)) == expected(sampler, tmp_path / f"here-{epoch}", epoch)
            assert hidden(tmp_path / "prepared") == [f"epoch-{epoch}"]
    assert list((tmp_path / "prepared").iterdir()) == []


def test_the_next_epoch_is_made_ahead(sampler: EpochSampler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch_stores, "_WORTH_A_PROCESS", 0)
    with EpochStores(sampler, tmp_path / "prepared") as stores:
        first = stores.take(0)
        monkeypatch.setattr(EpochStores, "_make", None)
        assert rows(stores.take(1)) == expected(sampler, tmp_path / "here", 1)
        assert set(hidden(tmp_path / "prepared")) <= {"epoch-1", "epoch-2"}
        assert rows(first) == expected(sampler, tmp_path / "before", 0), "who still reads the last one can go on"
        assert stores._ahead is not None
        process = stores._ahead._process.pid
        assert process is not None
    assert not is_running(process)
    assert list((tmp_path / "prepared").iterdir()) == []


def test_what_goes_wrong_ahead_comes_out_in_front(sampler: EpochSampler, tmp_path: Path) -> None:
    copy = tmp_path / "corpus"
    shutil.copytree(sampler.corpus.directory, copy)
    (copy / "train" / "two.fa").unlink()
    broken = dataclasses.replace(sampler, corpus=dataclasses.replace(sampler.corpus, directory=copy))
    ahead = _Ahead(broken, 1, tmp_path / "stores")
    with pytest.raises(StorageError, match=r"two\.fa is damaged \(the file is missing\)"):
        ahead.wait(nothing)
    ahead.stop()


def test_a_killed_process_is_told_with_what_to_do(sampler: EpochSampler, tmp_path: Path) -> None:
    ahead = _Ahead(sampler, 1, tmp_path / "stores")
    ahead._process.kill()
    with pytest.raises(StorageError, match=r"epoch 2 was killed, most likely because memory ran out"):
        ahead.wait(nothing)
    ahead.stop()


def test_a_stop_comes_before_the_complaint_about_a_process_that_it_killed(
    sampler: EpochSampler, tmp_path: Path
) -> None:
    def stop() -> None:
        raise Interrupted(signal.SIGTERM)

    ahead = _Ahead(sampler, 1, tmp_path / "stores")
    ahead._process.kill()
    with pytest.raises(Interrupted):
        ahead.wait(stop)
    ahead.stop()


def test_a_stop_during_the_first_epoch_leaves_nothing(sampler: EpochSampler, tmp_path: Path) -> None:
    def stop() -> None:
        raise Interrupted(signal.SIGINT)

    with pytest.raises(Interrupted), EpochStores(sampler, tmp_path / "prepared", check=stop) as stores:
        stores.take(0)
    assert list((tmp_path / "prepared").iterdir()) == []


def test_runs_side_by_side_keep_apart_and_left_overs_go(sampler: EpochSampler, tmp_path: Path) -> None:
    left_over = tmp_path / ".sampled-killed" / "epoch-3"
    left_over.mkdir(parents=True)
    (left_over / "one.en.ids").write_bytes(b"half")
    (tmp_path / "tokens-1").mkdir()
    with EpochStores(sampler, tmp_path) as one, EpochStores(sampler, tmp_path) as other:
        assert not left_over.parent.exists() and (tmp_path / "tokens-1").exists()
        assert rows(one.take(0)) == rows(other.take(0))
        assert hidden(tmp_path) == ["epoch-0", "epoch-0"]
        other.take(1)
        assert hidden(tmp_path) == ["epoch-0", "epoch-1"]


def test_a_folder_that_may_not_be_written_is_told(sampler: EpochSampler, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match=r"cannot write .*file"):
        EpochStores(sampler, tmp_path / "file")


def test_a_killed_run_takes_its_process_along_and_the_next_run_clears_up(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from translator.data.epoch_stores import _Ahead, _own_folder\n"
        "class Slow:\n"
        "    def write(self, epoch, folder):\n"
        "        folder.mkdir()\n"
        "        print(os.getpid(), flush=True)\n"
        "        time.sleep(600)\n"
        "if __name__ == '__main__':\n"
        "    folder, claim = _own_folder(Path(sys.argv[1]))\n"
        "    ahead = _Ahead(Slow(), 1, folder / 'epoch-1')\n"
        "    ahead.wait(lambda: None)\n",
        encoding="utf-8",
    )
    command = [sys.executable, str(script), str(tmp_path / "prepared")]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    process = int(run.stdout.readline())
    os.close(_own_folder(tmp_path / "prepared")[1])
    assert hidden(tmp_path / "prepared") == ["epoch-1"], "the folder of a living run stays"
    run.kill()
    run.wait()
    run.stdout.close()
    wait_for(lambda: not is_running(process))
    assert hidden(tmp_path / "prepared") == ["epoch-1"]
    os.close(_own_folder(tmp_path / "prepared")[1])
    assert hidden(tmp_path / "prepared") == []


def wait_for(done: Callable[[], bool]) -> None:
    for _ in range(300):
        if done():
            return
        time.sleep(0.1)
    pytest.fail("it did not come to pass in 30 seconds")


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
