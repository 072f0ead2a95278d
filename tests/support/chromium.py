"""Chromium without a window, spoken to over a pair of pipes, and a person at a page."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Final, Literal, Self

CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE: Final = 60.0  # seconds after which a page is taken to hang
KEYS: Final = {"Enter": 13, "/": 191}


class Browser:
    """Chromium with one empty page, and `profile`, an empty folder; use it as a context manager."""

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        browser_input, self._to = os.pipe()
        self._from, browser_output = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe"]

        def place_pipes() -> None:
            """Put the pipes to handles 3 and 4, where the browser looks for them, whatever is there."""
            # The pipes may have these handles in the other order, so copies come first.
            input_copy = os.dup(browser_input)
            output_copy = os.dup(browser_output)
            os.dup2(input_copy, 3)
            os.dup2(output_copy, 4)

        self._process = subprocess.Popen(
            [CHROMIUM, *flags, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=place_pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(browser_input)
        os.close(browser_output)
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

    def __exit__(self, *_: object) -> None:
        os.close(self._to)  # it ends when nobody speaks to it any more
        os.close(self._from)
        self._process.wait()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the browser's answer; what it tells meanwhile is put to `events`."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        unsent = json.dumps(message).encode() + b"\0"
        while unsent:
            written = os.write(self._to, unsent)
            unsent = unsent[written:]

        # Events may come before the answer.
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
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            content = os.read(self._from, 1 << 16)
            assert content, "the browser has ended"
            self._received += content
        encoded_message, self._received = self._received.split(b"\0", 1)
        message: dict[str, Any] = json.loads(encoded_message)
        return message


class Visitor:
    def __init__(self, browser: Browser) -> None:
        self.browser = browser

    def look(self, *, scheme: Literal["light", "dark"] = "light", width: int = 1280, height: int = 900) -> None:
        self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.browser.call("Emulation.setDeviceMetricsOverride", **size)

    def wait_until(self, condition: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self.browser.run(f"Boolean({condition})"):
            assert time.monotonic() < deadline, f"it never came: {condition}"
            time.sleep(0.02)

    def press(self, key: str, *, control: bool = False) -> None:
        modifiers = 2 if control else 0
        for kind in ("rawKeyDown", "keyUp"):
            self.browser.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=KEYS[key],
                modifiers=modifiers,
            )

    def translate(self, text: str) -> None:
        """Write a text, ask for its translation by the keyboard, and wait for it, or for a complaint."""
        self.browser.run("document.getElementById('text').select(), document.getElementById('status').textContent = ''")
        self.browser.call("Input.insertText", text=text)
        self.press("Enter", control=True)
        self.wait_until(
            "document.getElementById('status').textContent.startsWith('Translated')"
            " || !document.getElementById('problem').hidden"
        )

    def hover(self, element: str) -> None:
        """Move the mouse onto an element, which is given as an expression."""
        x, y = self.browser.run(
            f"(() => {{ const element = {element}; element.scrollIntoView({{block: 'center', behavior: 'instant'}}); "
            "const box = element.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def texts(self, selector: str) -> list[str]:
        elements = f"[...document.querySelectorAll({selector!r})]"
        texts: list[str] = self.browser.run(f"{elements}.map((element) => element.textContent)")
        return texts

    def errors(self, *, warnings: bool = False) -> list[str]:
        """Return what went wrong since the page was opened, in a script or in the browser."""
        levels = ["error", "assert"]
        if warnings:
            levels.append("warning")
        errors = []
        for event in self.browser.events:
            if event.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
                parameters = event["params"]
                if level_of(parameters) in levels:
                    errors.append(str(parameters))
        return errors

    def requests(self) -> list[str]:
        addresses = []
        for event in self.browser.events:
            if event.get("method") == "Network.requestWillBeSent":
                addresses.append(event["params"]["request"]["url"])
        return addresses


def level_of(parameters: dict[str, Any]) -> str:
    """Return the level of a call of the console, of an entry of the log, or of an exception, which has none."""
    log_entry = parameters.get("entry", {})
    level: str = parameters.get("type", log_entry.get("level", "error"))
    return level
