"""Ranks forked from the process of the tests, which has imported all that they need: no launcher, and a fast start."""

import contextlib
import multiprocessing
import os
import socket
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess


@contextlib.contextmanager
def forked_ranks(count: int, work: Callable[[], object]) -> Iterator[list[BaseProcess]]:
    """Yield `count` processes that do `work`, each as one rank of this machine; kill them at the end."""
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]

    def work_as(rank: int) -> None:
        os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count)}
        os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
        work()

    context = multiprocessing.get_context("fork")
    processes: list[BaseProcess] = [context.Process(target=work_as, args=(rank,)) for rank in range(count)]
    for process in processes:
        process.start()
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.join()
