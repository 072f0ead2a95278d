"""The command line as a user meets it: what each verb prints, where, and its exit code."""

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from translator.cli import main, parser
from translator.cli.arguments import repeat_set
from translator.cli.verbs import VERBS

COMMAND = [sys.executable, "-m", "translator"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": ""}
CONFIGS = Path(__file__).parents[2] / "configs"
EXAMPLES = [example for verb in VERBS for example in verb.examples]


@pytest.mark.parametrize("command", EXAMPLES)
def test_every_example_in_the_help_is_a_valid_command(command: str) -> None:
    program, *arguments = shlex.split(command.partition(" < ")[0].partition(" > ")[0])
    assert program == "translator"
    assert isinstance(parser().parse_args(repeat_set(arguments)), argparse.Namespace)


def test_the_help_imports_no_implementation_of_a_verb() -> None:
    script = "import sys, translator.cli; print(*sys.modules)"
    names = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=ENVIRONMENT).stdout
    assert {"translator.config", "pydantic", "numpy", "torch", "translator.cli.training"}.isdisjoint(names.split())


def test_set_option_takes_several_settings_but_not_the_text_after_them() -> None:
    typed = ["translate", "--run", "a", "--set", "search.method=beam", "search.beam_size=3", "The year 1=one", "x=1"]
    options = parser().parse_args(repeat_set(typed))
    assert options.overrides == ["search.method=beam", "search.beam_size=3"]
    assert options.text == ["The year 1=one", "x=1"]
    options = parser().parse_args(["translate", "-- dialogue --beem", "--", "--beem"])
    assert options.text == ["-- dialogue --beem", "--beem"], "a text only looks like an option"


def test_translate_stops_on_a_signal_while_its_input_is_open(
    random_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed, typing = os.pipe()
    printed, printing = os.pipe()
    os.write(typing, b"abc\n")

    def interrupt() -> None:
        os.read(printed, 1)  # the line comes out while the input is open
        os.kill(os.getpid(), signal.SIGINT)

    with os.fdopen(typed) as stdin, os.fdopen(printing, "w") as stdout:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", stdout)
        threading.Thread(target=interrupt).start()
        assert main(["translate", "--run", str(random_run), "--precision", "float32"]) == 130
    assert capsys.readouterr().err == "translator: stopped by SIGINT (Ctrl-C)\n"
    for end in (typing, printed):
        os.close(end)


@pytest.mark.parametrize(
    ("typed", "code", "message"),
    [
        ("recipe | true", 0, ""),
        ("recipe nowhere 2>&-", 2, ""),  # some service managers start programs with a closed stream
        pytest.param(
            "recipe > /dev/full",
            2,
            "translator: cannot write standard output: the disk is full; free some space",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full"),
        ),
    ],
)
def test_a_closed_or_full_output_causes_no_error_or_one_message(typed: str, code: int, message: str) -> None:
    command = f'{shlex.join(COMMAND)} {typed}; exit "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=ENVIRONMENT)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == bool(message), (
        "neither a traceback nor a complaint of the interpreter at its exit"
    )


MISTAKES = """\
trian
train --confg x
train --config nowhere
train --config sample --set training.max_step=3
train --config sample --set training.max_steps=many
train --config sample --set corpus.sources.0.path=nowhere.tsv
train --corpus nowhere.en nowhere.fa
train --corpus a.tsv --set training.max_step=3
train --corpus a.tsv --set run.device=cudda
prepare --config nowhere
prepare --config sample --set corpus.sources.0.path=nowhere.tsv
plot attention --run nowhere --output a.png
translate --run nowhere text
translate --input nowhere.txt
translate --input a.txt --output a.txt
translate text
evaluate --run nowhere
evaluate
compare nowhere elsewhere
serve --run nowhere --port 0
export --run nowhere --to marian exported
average --run nowhere
fine-tune --run nowhere --corpus nowhere.tsv
back-translate --run nowhere --monolingual nowhere.fa
distill --run nowhere
"""
WITHOUT_TORCH = """\
import sys

sys.modules["torch"] = None  # so that its import fails
from translator.cli import main

for command in sys.stdin.read().splitlines():
    try:
        code = main(command.split())
    except SystemExit as error:
        code = error.code
    except ImportError:
        code = "imports torch"
    print(f"{command}: {code}")
"""


def test_a_mistake_is_told_before_torch_is_imported(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Yes.\n", encoding="utf-8")
    (tmp_path / "a.tsv").write_text("Yes.\tبله.\n", encoding="utf-8")
    environment = ENVIRONMENT | {"PYTHONPATH": str(CONFIGS.parent)}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH],
        input=MISTAKES,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [f"{command}: 2" for command in MISTAKES.splitlines()]


def test_the_newest_finished_run_is_used_where_none_is_named(
    trained_folder: Path,
    random_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    finished = trained_folder / "run"
    for age, (name, run) in enumerate(
        {"damaged": finished, "unfinished": random_run, "newer": finished, "older": finished}.items()
    ):
        shutil.copytree(run, Path("runs", name), symlinks=True)
        for file in Path("runs", name).glob("checkpoints/step-*/state.json"):
            os.utime(file, (time.time() - age, time.time() - age))
    Path("runs/damaged/config.yaml").write_text("[", encoding="utf-8")
    # A run on another disk, of which the folder has a link.
    Path("runs/newer").rename("newer")
    Path("runs/newer").symlink_to(tmp_path / "newer")
    assert main(["translate", "abc"]) == 0
    told = capsys.readouterr().err.splitlines()[0]
    assert told == "the newest finished run is used: runs/newer (--run names another)"


def test_tensorboard_takes_the_place_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    monkeypatch.setattr(os, "execv", lambda program, arguments: started.extend(arguments))
    assert main(["tensorboard", str(tmp_path), "--port", "6007"]) == 0
    assert started[1:] == ["-m", "tensorboard.main", "--logdir", str(tmp_path), "--port", "6007"]
