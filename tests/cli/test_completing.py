"""The completion scripts, asked by the shells themselves."""

import shutil
import subprocess
from pathlib import Path

import pytest

from translator.cli import main

SHELLS = [
    pytest.param(shell, marks=pytest.mark.skipif(shutil.which(shell) is None, reason=f"there is no {shell} here"))
    for shell in ("bash", "zsh", "fish")
]


def script(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Write what the verb prints into a file."""
    assert main(["completion", shell]) == 0
    path = folder / f"completion.{shell}"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    return path


def ask(shell: str, *arguments: str) -> str:
    """Return what a shell says that reads no settings of the person's own."""
    quiet = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    return subprocess.run([shell, *quiet, *arguments], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_can_read_it(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask(shell, "-n", str(script(shell, tmp_path, capsys)))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("tra",), {"train", "translate"}),
        (("export", "--t"), {"--to"}),
        (("export", "--to", "c"), {"ctranslate2"}),
        (("train", "--config", "samp"), {"sample"}),
    ],
)
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes(
    words: tuple[str, ...], expected: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = script("bash", tmp_path, capsys)
    line = " ".join(("translator", *words))
    program = f"""
        complete() {{ builtin complete "$@"; chosen="${{@: -2:1}}"; }}
        source '{path}'
        COMP_WORDS=({line}); COMP_CWORD={len(words)}; COMP_LINE='{line}'; COMP_POINT={len(line)}
        $chosen translator '{words[-1]}' ''
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    assert set(ask("bash", "-c", program).split()) == expected


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish here")
def test_fish_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = script("fish", tmp_path, capsys)
    offered = ask("fish", "-c", f"source '{path}'; complete --do-complete 'translator tra'")
    assert {line.split("\t")[0] for line in offered.splitlines()} == {"train", "translate"}


def test_another_shell_is_told_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["completion", "cmd"])
    assert ended.value.code == 2
    assert "fish" in capsys.readouterr().err
