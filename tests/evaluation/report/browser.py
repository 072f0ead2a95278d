"""A browser without a window, for the tests of the page's script; spoken to over a pair of pipes."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """Chromium with one empty page; use it as a context manager.

    Args:
        profile: an empty folder.
    """

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        its_input, self._to = os.pipe()
        self._from, its_output = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe"]

        def place_pipes() -> None:
            """Put the pipes to handles 3 and 4, where the browser looks for them, whatever is there."""
            beside = os.dup(its_input), os.dup(its_output)
            os.dup2(beside[0], 3)
            os.dup2(beside[1], 4)

        self._process = subprocess.Popen(
            [CHROMIUM, *flags, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=place_pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(its_input)
        os.close(its_output)
        self._received = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._to)  # it ends when nobody speaks to it any more
        os.close(self._from)
        self._process.wait()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the browser's answer; what it tells meanwhile is put to `events`."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        content = json.dumps(message).encode() + b"\0"
        while content:
            content = content[os.write(self._to, content) :]
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def open(self, address: str) -> None:
        """Load a page anew, even where its address differs from that of the last in nothing but what follows a #."""
        for target in ("about:blank", address):
            self.events.clear()
            self.call("Page.navigate", url=target)
            while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
                self.events.append(self._read())

    def run(self, script: str) -> Any:
        """Return the value of an expression on the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key that types a character."""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            more = os.read(self._from, 1 << 16)
            assert more, "the browser has ended"
            self._received += more
        message, self._received = self._received.split(b"\0", 1)
        found: dict[str, Any] = json.loads(message)
        return found
