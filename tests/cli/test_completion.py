"""The verb completion: its script completes verbs, options and recipes in bash."""

import shutil
import subprocess
from pathlib import Path

import pytest

from translator.cli import main

COMPLETE = """
complete() {{ builtin complete "$@"; chosen="${{@: -2:1}}"; }}
source '{script}'
COMP_WORDS=({line}); COMP_CWORD={position}; COMP_LINE='{line}'; COMP_POINT={length}
$chosen translator '{last}' ''
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
"""Bash that completes the last word of a line."""


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    return script


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("line", "completions"),
    [
        ("translator tra", {"train", "translate"}),
        ("translator export --to c", {"ctranslate2"}),
        ("translator train --config samp", {"sample"}),
    ],
)
def test_bash_completes_verbs_options_and_recipes(line: str, completions: set[str], script: Path) -> None:
    words = line.split()
    program = COMPLETE.format(script=script, line=line, position=len(words) - 1, length=len(line), last=words[-1])
    done = subprocess.run(["bash", "--norc", "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == completions
