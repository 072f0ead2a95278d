"""Folders of what is made from a run: which outputs are refused, and which text is never replaced."""

from pathlib import Path

import pytest

from translator.errors import InputError, RunError
from translator.recipes.text_folder import text_folder
from translator.run.files import hold_folder


def test_text_of_a_user_or_of_another_process_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "synthetic.fa").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"synthetic\.fa was not made by this command"):
        text_folder(tmp_path, ["synthetic.en", "synthetic.fa"]).__enter__()
    assert [file.name for file in tmp_path.iterdir()] == ["synthetic.fa"]
    with hold_folder(tmp_path), pytest.raises(RunError, match=r"another process uses .*, or give another --output"):
        text_folder(tmp_path, []).__enter__()
    assert (tmp_path / "synthetic.fa").read_text(encoding="utf-8") == "mine"
