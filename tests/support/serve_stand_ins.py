"""A translator that waits for permission to work, and a server on a real port."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

from translator.config import NormalizationConfig, SearchConfig
from translator.corpus.normalizer.normalizer import Normalizer
from translator.errors import InputError, Interrupted
from translator.inference.translation import Translation
from translator.run.signals import StopRequest
from translator.serve import Limits
from translator.serve.app import make_app
from translator.serve.listening import listening_socket, serve, url


class Held:
    """Returns upper case once `gate` is open, rejects `bad`, crashes on `bug`, and records its inputs."""

    label = "held"
    checkpoint_name = "step-000005"
    normalizer = Normalizer(NormalizationConfig())
    subword = SimpleNamespace(source=SimpleNamespace(placeholders={}))

    def __init__(self, **search: Any) -> None:
        self.gate = threading.Event()
        self.inside = threading.Semaphore(0)  # released at each call, before it waits
        self.groups: list[list[str]] = []
        self.dropped: list[list[str]] = []
        settings: dict[str, Any] = {"method": "beam", "batch_size": 4} | search
        self.search = SearchConfig(**settings)
        self.confidence = None
        self.searcher = type("Engine", (), {"name": "held", "gives_attention": False})()

    def translations(
        self, texts: Sequence[str], *, count: int, check: Callable[[], None], **_: object
    ) -> list[list[Translation]]:
        self.groups.append(list(texts))
        self.inside.release()
        self.gate.wait()
        try:
            check()
        except Exception:
            self.dropped.append(list(texts))
            raise
        for text in texts:
            if "bad" in text:
                raise InputError(f"{text} is refused")
            if "bug" in text:
                raise ZeroDivisionError(text)
        n_best = []
        for text in texts:
            translation = Translation(
                text.upper(), score=-1.0, normalized_score=-0.5, tokens=2, pieces=1, finished=True
            )
            n_best.append([translation] * count)
        return n_best


def held(*, opened: bool = False, **search: Any) -> Any:
    translator = Held(**search)
    if opened:
        translator.gate.set()
    return translator


@contextlib.contextmanager
def served(translator: Any, limits: Limits | None = None) -> Iterator[tuple[str, StopRequest]]:
    """Serve on a free port; the address, and a request that stops the server, which is made at the end."""
    limits = limits or Limits()
    app = make_app(translator, limits)
    stop = StopRequest()
    with listening_socket("127.0.0.1", 0) as bound, ThreadPoolExecutor(1) as thread:
        serving = thread.submit(serve, app, bound, limits, stop)
        try:
            yield url(bound), stop
        finally:
            if not stop.requested:
                stop.receive(signal.SIGTERM)
    error = serving.exception()
    assert isinstance(error, Interrupted), error
