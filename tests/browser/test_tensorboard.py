"""TensorBoard on real runs: each tab that the docs mention shows what they say, and Persian as it is read."""

import json
import re
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.conftest import Keep, errors
from browser.serving import PATIENCE, Visitor

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
"""Looks for elements inside the shadow trees too, of which TensorBoard is made."""


PAIRS = (
    ("loss", "train/loss", "validation/loss"),
    ("perplexity", "train/perplexity", "validation/perplexity"),
    ("BLEU", "validation/bleu", "test/bleu"),
    ("chrF", "validation/chrf", "test/chrf"),
    ("loss by target length", "loss_by_length/", "validation_by_length/"),
)
"""Charts, and what stands against what in each."""


@pytest.fixture(scope="module")
def tensorboard(runs: Path) -> Iterator[str]:
    """What `make tensorboard` starts, at a free port."""
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


def asked(address: str, path: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


def open_tab(guest: Visitor, address: str, tab: str, shown: str) -> None:
    """Open a tab and wait until an expression holds."""
    guest.browser.open(f"{address}#{tab}")
    guest.browser.run(DEEP)
    guest.wait_until(shown)
    time.sleep(1.5)  # curves and pages come in with a movement


def test_runs_have_the_names_of_their_folders(tensorboard: str, runs: Path) -> None:
    names = {config.parent.relative_to(runs).as_posix() for config in runs.rglob("config.yaml")}
    assert set(asked(tensorboard, "data/runs")) == names


CURVES = ("train/loss", "validation/loss", "validation/bleu", "validation/chrf", "test/bleu", "test/chrf")


def test_curves_in_time(guest: Visitor, tensorboard: str, keep: Keep) -> None:
    open_tab(guest, tensorboard, "timeseries", "deep('metrics-tag-filter input').length && deep('scalar-card').length")
    guest.browser.run("deep('metrics-tag-filter input')[0].focus()")
    guest.browser.call("Input.insertText", text=f"^({'|'.join(CURVES)})$")
    shown = "words('metrics-filtered-view scalar-card')"
    guest.wait_until(f"{shown}.length >= 4 && {shown}.every((one) => /Value/.test(one))")
    first = " ".join(guest.browser.run(shown))
    assert "test/bleu" in first and "train/loss" in first
    guest.browser.run("deep('metrics-tag-filter input')[0].blur(), document.body.click()")  # the list of tags goes
    time.sleep(0.5)
    keep("tensorboard-timeseries")
    assert errors(guest) == []


def test_curves_as_scalars(guest: Visitor, tensorboard: str, keep: Keep) -> None:
    curves = [curve for curve in CURVES if not curve.startswith("test/")]  # a single point is no line here
    wanted = urllib.parse.quote(f"^({'|'.join(curves)})$", safe="")
    titles = "words('tf-scalar-card').map((one) => one.split(' ')[0])"
    shown = f"{titles}.length >= {len(curves)} && deep('tf-scalar-card >>> path.line').length >= {len(curves)}"
    open_tab(guest, tensorboard, f"scalars&tagFilter={wanted}", shown)
    assert set(curves) <= set(guest.browser.run(titles))
    keep("tensorboard-scalars")
    assert errors(guest) == []


def test_charts_set_training_against_validation(guest: Visitor, tensorboard: str, keep: Keep) -> None:
    card = "tf-custom-scalar-multi-line-chart-card"
    open_tab(guest, tensorboard, "custom_scalars", f"deep('{card} >>> path.line').length >= 4")
    charts = guest.browser.run(f"words('{card}')")
    for title, one, other in PAIRS:
        (chart,) = (chart for chart in charts if re.match(rf"{title} [\d.\-–]", chart))
        assert one in chart and other in chart, title
    keep("tensorboard-custom-scalars")
    assert errors(guest) == []


def test_attention_is_drawn(guest: Visitor, tensorboard: str, runs: Path, keep: Keep) -> None:
    count = len(list(runs.rglob("config.yaml")))
    # A picture of a translation that ends at once, one row, is not so high.
    seen = f"deep('tf-image-loader >>> img').filter((one) => one.naturalHeight > 300).length === {count}"
    open_tab(guest, tensorboard, "images", seen)
    assert "validation/attention" in guest.browser.run("words('tf-image-loader').join('\\n')")
    guest.browser.run("[...deep('paper-checkbox')].find((one) => /actual image size/.test(one.textContent)).click()")
    guest.wait_until("deep('tf-image-loader >>> img').every((one) => one.clientWidth === one.naturalWidth)")
    keep("tensorboard-images")
    assert errors(guest) == []


def test_translations_run_from_right_to_left(guest: Visitor, tensorboard: str, keep: Keep) -> None:
    open_tab(guest, tensorboard, "text", "deep('tf-text-loader >>> td').length > 10")
    assert "data/mixture" in guest.browser.run("words('tf-text-loader').join(' ')")
    open_tab(guest, tensorboard, "text&tagFilter=translations", "deep('tf-text-loader >>> td').length > 10")
    # Where the first and the last letter of the first reference that fits into a line are drawn.
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
    # Letters that are joined are narrower than the same letters apart: the text is shaped.
    joined, apart = guest.browser.run(
        "['\\u0628\\u0647\\u0628\\u0647', '\\u0628\\u200c\\u0647\\u200c\\u0628\\u200c\\u0647'].map((letters) => {"
        " const one = document.createElement('span'); one.textContent = letters;"
        " deep('tf-text-loader >>> td')[0].append(one); const width = one.getBoundingClientRect().width; one.remove();"
        " return width; })"
    )
    assert 0 < joined < apart
    assert "data/mixture" in guest.browser.run("words('tf-text-loader').join('\\n')")
    keep("tensorboard-text")
    assert errors(guest) == []


def test_runs_compare_by_their_settings_and_test_scores(
    guest: Visitor, tensorboard: str, runs: Path, keep: Keep
) -> None:
    experiment = asked(tensorboard, "data/plugin/hparams/experiment", {})
    tags = [info["name"]["tag"] for info in experiment["metricInfos"]]
    assert tags[:2] == ["test/bleu", "test/chrf"]
    wanted = {"allowedStatuses": ["STATUS_SUCCESS"], "startIndex": 0, "sliceSize": 100}
    columns = [{"metric": {"tag": tag, "group": ""}, "includeInResult": True} for tag in tags]
    groups = asked(tensorboard, "data/plugin/hparams/session_groups", {**wanted, "colParams": columns})
    for group in groups["sessionGroups"]:
        (session,) = group["sessions"]
        scores = json.loads((runs / session["name"] / "evaluation" / "scores.json").read_text(encoding="utf-8"))
        shown = {value["name"]["tag"]: value["value"] for value in session["metricValues"]}
        assert shown["test/bleu"] == pytest.approx(scores[0]["score"])
        assert {"validation/loss", "validation/chrf"} <= shown.keys()
    guest.look(width=1800, height=560)
    rows = "words('tf-hparams-table-view >>> vaadin-grid-cell-content')"
    open_tab(guest, tensorboard, "hparams", f"{rows}.filter(Boolean).length > 10")
    cells = guest.browser.run(rows)
    assert {"test/bleu", "test/chrf"} <= {cell.replace("\n", "") for cell in cells}
    names = {config.parent.relative_to(runs).as_posix() for config in runs.rglob("config.yaml")}
    assert names <= set(cells)
    keep("tensorboard-hparams")
    assert errors(guest) == []
