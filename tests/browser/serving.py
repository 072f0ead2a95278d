"""A served translator whose Persian is known, and what a person does with a page."""

import base64
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import torch
from echo_model import Echo, Words
from evaluation.report.browser import Browser
from torch import Tensor

from translator.config import NormalizationConfig, SearchConfig
from translator.corpus.normalize import Normalizer
from translator.inference import TorchSearcher, Translator
from translator.model import AttentionWeights
from translator.special_tokens import EOS

PERSIAN: Final[Mapping[str, str]] = {
    "children": "بچه\u200cها",
    "go": "می\u200cروند",
    "home": "خانه",
    "(today)": "(امروز)",
}
"""What becomes of each word; any other is left as it is."""
PATIENCE: Final = 60.0
"""Seconds after which a page is taken to hang."""
KEYS: Final = {"Enter": 13, "Tab": 9, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35}


class PersianWords:
    """The target side of `Words`."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def decode_ids(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return [" ".join(self._spelled(token) for token in row) for row in rows]

    def pieces_of(self, ids: Sequence[int]) -> list[str]:
        return [self._words.words[token] if token <= EOS else f"▁{self._spelled(token)}" for token in ids]

    def _spelled(self, token: int) -> str:
        return PERSIAN.get(self._words.words[token], self._words.words[token])


class WordByWord(Echo):
    """Looks at the word that it translates, with three quarters of its attention, and at the end with the rest."""

    def attention(self, source: Tensor, target_input: Tensor) -> AttentionWeights:
        weights = torch.zeros(source.size(0), 1, target_input.size(1), source.size(1))
        for place in range(target_input.size(1)):
            weights[:, :, place, min(place, source.size(1) - 1)] += 0.75
            weights[:, :, place, -1] += 0.25
        return AttentionWeights(cross=[weights])


def word_by_word() -> Translator:
    """Return a translator that puts Persian words in the places of English ones, three at a time."""
    words = Words()
    pair: Any = type("Pair", (), {"source": words, "target": PersianWords(words)})
    model: Any = WordByWord()
    search = SearchConfig(method="beam", beam_size=3, batch_size=8)
    searcher = TorchSearcher([model], torch.device("cpu"))
    return Translator(searcher, pair, Normalizer(NormalizationConfig()), search, 20, name="word by word")


class Visitor:
    """A person at a page.

    Args:
        browser: shows the page.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser

    def look(self, *, scheme: Literal["light", "dark"] = "light", width: int = 1280, height: int = 900) -> None:
        """Take a colour scheme and a size of the window."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.browser.call("Emulation.setEmulatedMedia", features=features)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.browser.call("Emulation.setDeviceMetricsOverride", **size)

    def wait_until(self, condition: str) -> None:
        """Wait until an expression holds."""
        deadline = time.monotonic() + PATIENCE
        while not self.browser.run(f"Boolean({condition})"):
            assert time.monotonic() < deadline, f"it never came: {condition}"
            time.sleep(0.02)

    def write(self, text: str) -> None:
        """Write into the field in place of what is there."""
        self.browser.run(
            "(() => { const field = document.getElementById('english'); field.focus(); field.select(); })()"
        )
        self.browser.call("Input.insertText", text=text)

    def press(self, key: str, *, control: bool = False) -> None:
        """Press one of `KEYS`."""
        about = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key], "modifiers": 2 if control else 0}
        for kind in ("rawKeyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", type=kind, **about)

    def translate(self, text: str) -> None:
        """Write a text, ask for its translation by the keyboard, and wait for it, or for a complaint."""
        self.write(text)
        self.browser.run("document.getElementById('status').textContent = ''")
        self.press("Enter", control=True)
        self.wait_until(
            "document.getElementById('status').textContent.startsWith('Translated')"
            " || !document.getElementById('problem').hidden"
        )

    def hover(self, element: str) -> None:
        """Move the mouse onto an element, which is given as an expression."""
        place = self.browser.run(
            f"(() => {{ const one = {element}; one.scrollIntoView({{block: 'center', behavior: 'instant'}}); "
            "const at = one.getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2]; })()"
        )
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])

    def texts(self, selector: str) -> list[str]:
        """Return the texts of elements."""
        found: list[str] = self.browser.run(
            f"[...document.querySelectorAll({selector!r})].map((one) => one.textContent)"
        )
        return found

    def screenshot(self, path: Path) -> None:
        """Write what the window shows as a PNG file."""
        path.write_bytes(base64.b64decode(self.browser.call("Page.captureScreenshot", format="png")["data"]))

    def complaints(self) -> list[str]:
        """Return what the browser has complained of since the page was opened."""
        found = []
        for event in self.browser.events:
            about = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(about["exceptionDetails"]))
            elif event.get("method") == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
                found.append(about["entry"]["text"])
            elif event.get("method") == "Runtime.consoleAPICalled":
                found.append(str(about["args"]))
        return found

    def requests(self) -> list[str]:
        """Return the addresses that were asked since the page was opened."""
        events = (event for event in self.browser.events if event.get("method") == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in events]
