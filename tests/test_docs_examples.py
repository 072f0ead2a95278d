"""Examples in the pages and docstrings give the output that they show."""

import ast
import doctest
import importlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from _pytest.doctest import _get_checker, _get_number_flag

from tests.support.doc_examples import PAGES, ROOT, blocks
from tests.support.small_model import small_model
from tests.support.untrained import untrained_run
from translator.config import load_config

CODE = [(page, line, code) for page in PAGES for line, code in blocks(page, "python")]
RUN_WHOLE = ("README.md", "search.md", "translating.md")
"""Pages whose Python is run unchanged; on the others, which need evaluated or exported runs, only imports are run."""
WITH_EXAMPLES = [file for file in sorted((ROOT / "translator").rglob("*.py")) if ">>> " in file.read_text("utf-8")]


def complaints_about(tests: list[doctest.DocTest]) -> list[str]:
    """Run the examples of `tests`, and return what was wrong."""
    # Processors round differently, so a printed fraction may differ by one in its last digit.
    flags = doctest.NORMALIZE_WHITESPACE | _get_number_flag()
    runner = doctest.DocTestRunner(_get_checker(), verbose=False, optionflags=flags)
    complaints: list[str] = []
    for test in tests:
        runner.run(test, out=complaints.append, clear_globs=False)
    return complaints


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the recipes and the sample, as a reader has it, and untrained runs."""
    folder = tmp_path_factory.mktemp("house")
    (folder / "data").mkdir()
    (folder / "configs").symlink_to(ROOT / "configs")
    (folder / "data" / "sample").symlink_to(ROOT / "data" / "sample")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        overrides = ["run.directory=runs/sample", "run.device=cpu", "search.max_length_ratio=1"]
        untrained_run(load_config("configs/sample.yaml", overrides))
        for name in ("a", "b"):
            shutil.copytree("runs/sample", f"runs/{name}", symlinks=True)
    return folder


@pytest.fixture
def inside(house: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(house)
    torch.set_float32_matmul_precision("highest")
    yield


@pytest.mark.usefixtures("inside")
def test_sentence_walkthrough_examples_give_the_output_shown() -> None:
    page = ROOT / "docs" / "a-sentence.md"
    values: dict[str, Any] = {}
    parts = blocks(page, "pycon")
    assert len(parts) > 20
    for line, text in parts:
        test = doctest.DocTestParser().get_doctest(text, values, page.name, page.name, line - 1)
        test.globs = values  # not a copy: the next block uses the variables of this one
        assert complaints_about([test]) == []


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize(("page", "line", "code"), CODE, ids=lambda value: getattr(value, "name", None))
def test_python_blocks_in_pages_run_or_import(page: Path, line: int, code: str) -> None:
    tree = ast.parse(code, page.name)
    if page.name not in RUN_WHOLE:
        tree.body = [part for part in tree.body if isinstance(part, ast.Import | ast.ImportFrom)]
        assert tree.body
    values = {"model": small_model().eval(), "rows": [[5, 6, 7]]}
    exec(compile(ast.increment_lineno(tree, line - 1), page.name, "exec"), values)  # noqa: S102 - our own words


@pytest.mark.parametrize("file", WITH_EXAMPLES, ids=lambda file: str(file.relative_to(ROOT)))
def test_docstring_examples_give_the_output_shown(file: Path) -> None:
    parts = file.relative_to(ROOT).with_suffix("").parts
    module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    tests = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    assert tests
    assert complaints_about(tests) == []
