"""What is named as a run and is none: every verb says the same of it, and opens no file of it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from translator.cli import main
from translator.errors import RunError
from translator.run_folder import RunFolder

VERBS = {
    "translate": ("translate", "--run", "{}", "hello"),
    "evaluate": ("evaluate", "--run", "{}"),
    "export": ("export", "--run", "{}", "--to", "ctranslate2", "out"),
    "compare": ("compare", "{}", "{}"),
}
FOLDERS = [
    (
        ["config.json", "tokenizer_config.json", "pytorch_model.bin"],
        "is no run, but a Hugging Face model from elsewhere",
    ),
    (["config.json", "model.safetensors"], "is no run, but a Hugging Face model from elsewhere"),
    (["config.json", "pytorch_model.bin"], "is no run, but a Hugging Face model from elsewhere"),
    (["model.bin", "shared_vocabulary.json", "config.json"], "is no run, but a CTranslate2 model from elsewhere"),
    (["checkpoint.pt"], "is no run, but holds what is named like pickles (checkpoint.pt), never loaded"),
    (["model.safetensors"], "is no run, but holds weights alone (model.safetensors)"),
    (["export.json", "source.spm", "config.json", "model.safetensors"], "is no run, but an export for Hugging Face"),
    (["export.json", "model.bin"], "is no run, but a damaged export"),
    (["config.yaml/recipe"], "its config.yaml is no file"),
    (["notes.txt"], "(it has no config.yaml); train one first"),
    ([], "the folder is empty; train one first"),
]


def complaint(capsys: pytest.CaptureFixture[str], arguments: Sequence[str]) -> str:
    """Run a verb, which must fail, and return its one message."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err[captured.err.rindex("translator: ") :]


@pytest.mark.parametrize(("files", "expected"), FOLDERS)
def test_every_verb_recognises_a_folder_from_elsewhere(
    files: list[str],
    expected: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("elsewhere").mkdir()
    for name in files:
        file = Path("elsewhere", name)
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"{}")
    found = {complaint(capsys, [part.format("elsewhere") for part in verb]) for verb in VERBS.values()}
    assert len(found) == 1, "one message, whoever says it"
    (message,) = found
    assert "elsewhere" in message
    assert expected in message
    assert not Path("out").exists()


@pytest.mark.parametrize("verb", VERBS)
def test_a_pickle_is_refused_by_its_name(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.pt").write_bytes(b"\x80\x04")
    message = complaint(capsys, [part.format("model.pt") for part in VERBS[verb]])
    assert "model.pt is named like a pickle, which is never loaded since it can run any code" in message


def test_what_else_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("hello", encoding="utf-8")
    with pytest.raises(RunError, match=r"text\.txt is a single file; name a run folder"):
        RunFolder.open(tmp_path / "text.txt")
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "config.yaml").write_text("", encoding="utf-8")
    (tmp_path / "odd" / "config.yaml").mkdir(parents=True)
    with pytest.raises(RunError, match=r"no run at .*nowhere: there is no such folder; runs there: \S*good$"):
        RunFolder.open(tmp_path / "nowhere")


@pytest.mark.parametrize("verb", VERBS)
def test_an_empty_name_is_said(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A shell makes it of a variable that is not set; it must not mean the folder at hand."""
    with pytest.raises(SystemExit) as left:
        main([part.format("") for part in VERBS[verb]])
    assert left.value.code == 2
    assert "the name is empty; name a run folder, for example runs/sample" in capsys.readouterr().err
