"""Worker processes: how many, with which weights, and what is said when one is killed."""

import logging
import os
import signal
from functools import partial

import pytest

from tests.support.loud_translator import loud
from translator.errors import RunError, StorageError
from translator.inference.files import line_translation
from translator.inference.files.line_reader import Chunk
from translator.inference.files.line_translation import Work, choose_processes, start_worker
from translator.inference.files.output_formats import OutputForm

WORK = Work(loud, OutputForm())


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_process_is_reported_as_a_storage_error() -> None:
    chunk = Chunk(first_line=1, texts=["a"], invalid=[])
    message = r"a worker process was killed; .* memory may have run out: use fewer \(--set search\.processes=1\)"
    with pytest.raises(StorageError, match=message):
        list(Work(partial(loud, die), OutputForm()).render_chunks(loud(), [chunk] * 3, 2))


def test_a_worker_process_with_other_weights_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_translation, "LOGGER", logging.getLogger("worker"))
    with pytest.raises(RunError, match=r"found other weights .*run the same command again, with --checkpoint STEP"):
        start_worker(WORK, "weights of another step")


def test_process_count_depends_on_the_engine_the_size_and_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_translation, "available_cores", lambda: 4)
    translator = loud(processes=0)
    translator.searcher.useful_processes = 3
    translator.searcher.bytes_worth_processes = 1000
    assert choose_processes(translator, 1000) == 3
    assert choose_processes(translator, 999) == 1
    assert choose_processes(loud(processes=2), 10) == 2
    assert choose_processes(loud(processes=64), 10) == 4, "a recipe of a larger machine"
    translator.searcher.useful_processes = 1
    assert choose_processes(translator, 1000) == 1, "such as on a GPU"
