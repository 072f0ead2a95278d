"""TensorBoard on real runs: each tab that the docs mention shows what they say, and Persian from right to left."""

import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.chromium import PATIENCE, Visitor

pytestmark = pytest.mark.browser

DEEP = """(() => {
  const find = (selector, root) => [...root.querySelectorAll(selector),
    ...[...root.querySelectorAll('*')].flatMap((one) => one.shadowRoot ? find(selector, one.shadowRoot) : [])];
  window.deep = (path) => path.split(' >>> ').reduce((roots, selector) => roots.flatMap((root) =>
    [...find(selector, root), ...(root.shadowRoot ? find(selector, root.shadowRoot) : [])]), [document]);
  const children = (node) => [...node.childNodes, ...(node.shadowRoot ? node.shadowRoot.childNodes : [])];
  const text = (node) => node.nodeType === Node.TEXT_NODE ? node.textContent :
    ['STYLE', 'SCRIPT'].includes(node.tagName) ? '' : children(node).map(text).join('');
  window.words = (path) => deep(path).map((one) => text(one).replaceAll(/\\s+/g, ' ').trim());
})()"""
"""Finds elements inside shadow trees too, which TensorBoard consists of."""


PAIRS = (
    ("loss", "train/loss", "validation/loss"),
    ("perplexity", "train/perplexity", "validation/perplexity"),
    ("BLEU", "validation/bleu", "test/bleu"),
    ("chrF", "validation/chrf", "test/chrf"),
    ("loss by target length", "loss_by_length/", "validation_by_length/"),
)
"""The title of each chart, and the two curves that it compares."""


@pytest.fixture(scope="module")
def tensorboard(runs: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "translator", "tensorboard", str(runs), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://localhost:{port}/"
    deadline = time.monotonic() + PATIENCE
    try:
        while True:
            assert process.poll() is None and time.monotonic() < deadline
            try:
                if len(asked(address, "data/runs")) == len(list(runs.rglob("config.yaml"))):
                    break
            except OSError:
                pass
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def asked(address: str, path: str) -> Any:
    with urllib.request.urlopen(address + path, timeout=PATIENCE) as answer:
        return json.load(answer)


def open_tab(guest: Visitor, address: str, tab: str, shown: str) -> None:
    guest.browser.open(f"{address}#{tab}")
    guest.browser.run(DEEP)
    guest.wait_until(shown)
    time.sleep(1.5)  # curves and pages appear with an animation


def test_charts_show_training_beside_validation(guest: Visitor, tensorboard: str) -> None:
    card = "tf-custom-scalar-multi-line-chart-card"
    open_tab(guest, tensorboard, "custom_scalars", f"deep('{card} >>> path.line').length >= 4")
    charts = guest.browser.run(f"words('{card}')")
    for title, one, other in PAIRS:
        (chart,) = (chart for chart in charts if re.match(rf"{title} [\d.\-–]", chart))
        assert one in chart and other in chart, title
    assert guest.errors() == []


def test_images_tab_shows_an_attention_picture_of_each_run(guest: Visitor, tensorboard: str, runs: Path) -> None:
    count = len(list(runs.rglob("config.yaml")))
    # The picture of an empty translation has a single row and is lower than this.
    seen = f"deep('tf-image-loader >>> img').filter((one) => one.naturalHeight > 300).length === {count}"
    open_tab(guest, tensorboard, "images", seen)
    assert "validation/attention" in guest.browser.run("words('tf-image-loader').join('\\n')")
    guest.browser.run("[...deep('paper-checkbox')].find((one) => /actual image size/.test(one.textContent)).click()")
    guest.wait_until("deep('tf-image-loader >>> img').every((one) => one.clientWidth === one.naturalWidth)")
    assert guest.errors() == []


def test_text_tab_shows_translations_from_right_to_left(guest: Visitor, tensorboard: str) -> None:
    open_tab(guest, tensorboard, "text", "deep('tf-text-loader >>> td').length > 10")
    assert "data/mixture" in guest.browser.run("words('tf-text-loader').join(' ')")
    open_tab(guest, tensorboard, "text&tagFilter=translations", "deep('tf-text-loader >>> td').length > 10")
    # The positions of the first and the last letter of the first reference that fits on one line.
    ends = """(() => {
      const cells = deep('tf-text-loader >>> td').filter((one) => /^\\u2067[\\u0600-\\u06ff]/.test(one.textContent));
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
