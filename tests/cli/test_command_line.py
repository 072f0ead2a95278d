"""The command line as a user meets it: what each verb prints, where, and its exit code."""

import argparse
import os
import pkgutil
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.complaints import complaint
from translator.cli import main, parser
from translator.cli.arguments import Verb, repeat_set
from translator.cli.verbs import VERBS

COMMAND = [sys.executable, "-m", "translator"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": ""}
CONFIGS = Path(__file__).parents[2] / "configs"
EXAMPLES = [example for verb in VERBS for example in verb.examples]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_verb_and_every_option_is_explained_and_done_by_a_function(verb: Verb) -> None:
    assert verb.summary
    assert all(settings["help"] for _, settings in verb.options)
    assert callable(pkgutil.resolve_name(verb.run))


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


def test_translate_stops_on_a_signal_while_its_input_is_open(random_run: Path) -> None:
    command = [*COMMAND, "translate", "--run", str(random_run), "--precision", "float32"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=ENVIRONMENT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"abc\n")
        process.stdin.flush()
        assert process.stdout.readline().endswith(b"\n"), "the line comes out while the input is open"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"translator: stopped by SIGINT (Ctrl-C)\n"
    assert process.returncode == 130


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_to_a_full_disk_gives_one_error_message(random_run: Path) -> None:
    command = [*COMMAND, "translate", "--run", str(random_run), "--precision", "float32"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, input=b"abc\n", stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT)
    assert done.returncode == 2
    assert done.stderr.startswith(b"translator: cannot write standard output: the disk is full; free some space")
    assert done.stderr.count(b"\n") == 1, "neither a traceback nor a complaint of the interpreter at its exit"


@pytest.mark.parametrize(
    "pipeline",
    [
        "yes abc | head -3000 | {translator} translate --run {run} --precision float32 | head -1",
        "true | true | {translator} recipe 2>&-",  # some service managers start programs with a closed stream
    ],
)
def test_a_closed_output_pipe_or_stream_causes_no_error(pipeline: str, random_run: Path) -> None:
    pipeline = pipeline.format(translator=shlex.join(COMMAND), run=shlex.quote(str(random_run)))
    command = ["bash", "-c", f'{pipeline}; exit "${{PIPESTATUS[2]}}"']
    done = subprocess.run(command, capture_output=True, env=ENVIRONMENT)
    assert done.returncode == 0
    assert done.stderr == b""


def test_a_key_without_its_section_gets_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["train", "--config", "sample", "max_steps=3"])
    assert caught.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "a key of the recipe needs its section and --set: section.key=value" in line


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


def test_tensorboard_takes_the_place_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[str] = []
    monkeypatch.setattr(os, "execv", lambda program, arguments: started.extend(arguments))
    assert main(["tensorboard", str(tmp_path), "--port", "6007"]) == 0
    assert started[1:] == ["-m", "tensorboard.main", "--logdir", str(tmp_path), "--port", "6007"]
    assert "name the folder that holds the runs" in complaint(capsys, "tensorboard", "nowhere")
