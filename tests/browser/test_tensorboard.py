"""TensorBoard on real runs: each tab that the docs mention shows what they say, and Persian from right to left."""

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.chromium import PATIENCE, Visitor

pytestmark = pytest.mark.browser

DEEP = """(() => {
  const find = (selector, root) => [...root.querySelectorAll(selector),
    ...[...root.querySelectorAll('*')].flatMap((node) => node.shadowRoot ? find(selector, node.shadowRoot) : [])];
  window.deep = (path) => path.split(' >>> ').reduce((roots, selector) => roots.flatMap((root) =>
    [...find(selector, root), ...(root.shadowRoot ? find(selector, root.shadowRoot) : [])]), [document]);
  const children = (node) => [...node.childNodes, ...(node.shadowRoot ? node.shadowRoot.childNodes : [])];
  const text = (node) => node.nodeType === Node.TEXT_NODE ? node.textContent :
    ['STYLE', 'SCRIPT'].includes(node.tagName) ? '' : children(node).map(text).join('');
  window.words = (path) => deep(path).map((element) => text(element).replaceAll(/\\s+/g, ' ').trim());
})()"""
"""Finds elements inside shadow trees too, which TensorBoard consists of."""


def fetch_json(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
        return json.load(answer)


def run_count(runs: Path) -> int:
    return len(list(runs.rglob("config.yaml")))


def shows_runs(address: str, run_count: int) -> bool:
    """Return whether a server answers at an address and has read so many runs."""
    try:
        return len(fetch_json(f"{address}data/runs")) == run_count
    except OSError:
        return False


@pytest.fixture(scope="module")
def tensorboard(runs: Path) -> Iterator[str]:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        _, port = unused.getsockname()
    command = [sys.executable, "-m", "translator", "tensorboard", str(runs), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://localhost:{port}/"
    deadline = time.monotonic() + PATIENCE
    try:
        while not shows_runs(address, run_count=run_count(runs)):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def open_tab(guest: Visitor, address: str, tab: str, shown: str) -> None:
    guest.browser.open(f"{address}#{tab}")
    guest.browser.run(DEEP)
    guest.wait_until(shown)
    time.sleep(1.5)  # curves and pages appear with an animation


def test_images_tab_shows_an_attention_picture_of_each_run(guest: Visitor, tensorboard: str, runs: Path) -> None:
    # The picture of an empty translation has a single row and is lower than this.
    pictures = "deep('tf-image-loader >>> img').filter((image) => image.naturalHeight > 300)"
    open_tab(guest, tensorboard, "images", f"{pictures}.length === {run_count(runs)}")
    assert "validation/attention" in guest.browser.run("words('tf-image-loader').join('\\n')")
    guest.browser.run("[...deep('paper-checkbox')].find((box) => /actual image size/.test(box.textContent)).click()")
    guest.wait_until("deep('tf-image-loader >>> img').every((image) => image.clientWidth === image.naturalWidth)")
    assert guest.errors() == []


def test_text_tab_shows_translations_from_right_to_left(guest: Visitor, tensorboard: str) -> None:
    open_tab(guest, tensorboard, "text", "deep('tf-text-loader >>> td').length > 10")
    assert "data/mixture" in guest.browser.run("words('tf-text-loader').join(' ')")
    open_tab(guest, tensorboard, "text&tagFilter=translations", "deep('tf-text-loader >>> td').length > 10")
    # The positions of the first and the last letter of the first reference that fits on one line.
    ends = """(() => {
      const cells = deep('tf-text-loader >>> td').filter((cell) => /^\\u2067[\\u0600-\\u06ff]/.test(cell.textContent));
      const range = document.createRange();
      const place = (text, from) => { range.setStart(text, from); range.setEnd(text, from + 1);
        return range.getBoundingClientRect(); };
      for (const cell of cells) {
        const text = cell.firstChild, first = place(text, 1), last = place(text, text.length - 2);
        if (text.length > 6 && first.top === last.top) return [first.left, last.left, cell.textContent];
      }
    })()"""
    first, last, text = guest.browser.run(ends)
    assert last < first, text
    assert "data/mixture" in guest.browser.run("words('tf-text-loader').join('\\n')")
    assert guest.errors() == []
