"""Ranks without a launcher, forked from a server that has imported all that they need, and has no threads."""

import contextlib
import multiprocessing
import os
import signal
import socket
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess

from translator.run.signals import STOP_SIGNALS


@contextlib.contextmanager
def forked_ranks(count: int, work: Callable[[], object]) -> Iterator[list[BaseProcess]]:
    """Yield `count` processes that do `work`, each as one rank of this machine; kill them at the end.

    `work` must be picklable. A fork of the process of the tests itself could hang, since torch has started threads in
    it.
    """
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.tiny_runs", "translator.training.run_training"])
    processes: list[BaseProcess] = []
    for rank in range(count):
        processes.append(context.Process(target=_work_as, args=(rank, count, port, work)))
    for process in processes:
        process.start()
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.join()


def _work_as(rank: int, count: int, port: int, work: Callable[[], object]) -> None:
    # A worker process that an earlier test started may have started the server, with these signals blocked.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count)}
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    work()
