"""The command line as a user meets it: what each verb prints, where, and its exit code."""

import argparse
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from translator.cli import main, parser
from translator.cli.arguments import repeat_set
from translator.cli.completion import verbs_of

COMMAND = [sys.executable, "-m", "translator"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": ""}
CONFIGS = Path(__file__).parents[2] / "configs"
VERBS = dict(verbs_of(parser()))


def is_group(name: str) -> bool:
    """Whether the verb only holds other verbs, as `plot` holds `plot curves`."""
    return any(verb.startswith(f"{name} ") for verb in VERBS)


LEAVES = [name for name in VERBS if not is_group(name)]


def examples() -> list[str]:
    """Return the examples in the help of all verbs."""
    commands = []
    for name in LEAVES:
        for line in (VERBS[name].epilog or "").splitlines():
            if line.startswith("  translator "):
                commands.append(line.strip())
    return commands


def test_most_verbs_have_an_example() -> None:
    assert len(examples()) > 20


@pytest.mark.parametrize("name", LEAVES)
def test_every_verb_and_every_argument_is_explained(name: str) -> None:
    assert VERBS[name].description
    unexplained = [action.dest for action in VERBS[name]._actions if not action.help]
    assert unexplained == []


@pytest.mark.parametrize("command", examples())
def test_every_example_in_the_help_is_a_valid_command(command: str) -> None:
    program, *arguments = shlex.split(command.partition(" < ")[0].partition(" > ")[0])
    assert program == "translator"
    assert isinstance(parser().parse_args(repeat_set(arguments)), argparse.Namespace)


def test_set_option_takes_several_settings_but_not_the_text_after_them() -> None:
    typed = ["translate", "--run", "a", "--set", "search.method=beam", "search.beam_size=3", "The year 1=one", "x=1"]
    options = parser().parse_args(repeat_set(typed))
    assert options.overrides == ["search.method=beam", "search.beam_size=3"]
    assert options.text == ["The year 1=one", "x=1"]


def test_translate_stops_on_a_signal_while_its_input_is_open(random_run: Path) -> None:
    command = [*COMMAND, "translate", "--run", str(random_run)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=ENVIRONMENT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"abc\n")
        process.stdin.flush()
        assert process.stdout.readline().endswith(b"\n"), "the line comes out while the input is open"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"translator: stopped by signal 2\n"
    assert process.returncode == 130


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    ("verb", "unbuffered"), [("--help", ""), ("--help", "1"), ("--version", "1"), ("translate --run {}", "")]
)
def test_output_to_a_full_disk_gives_one_error_message(verb: str, unbuffered: str, random_run: Path) -> None:
    command = [*COMMAND, *verb.format(random_run).split()]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command,
            input=b"abc\n",
            stdout=full,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT | {"PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 2
    assert done.stderr.startswith(b"translator: cannot write standard output: the disk is full; free some space")
    assert done.stderr.count(b"\n") == 1, "neither a traceback nor a complaint of the interpreter at its exit"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_mistake_keeps_its_exit_code_with_a_full_standard_error(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*COMMAND, "runs", str(tmp_path / "none")], stderr=full, env=ENVIRONMENT)
    assert done.returncode == 2


def test_a_deleted_current_folder_is_named_before_any_work(tmp_path: Path) -> None:
    command = ["bash", "-c", f'rmdir "$PWD"; {shlex.join(COMMAND)} doctor']
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 2
    assert done.stderr == "translator: the current folder no longer exists; change to another one, for example: cd ~\n"


@pytest.mark.parametrize(
    "arguments",
    [
        "train --corpus a\tb.en a.fa",
        "fine-tune --run r --corpus a\tb.en a.fa",
        "back-translate --run r --monolingual a\tb.fa",
        "distill --run r --monolingual a\tb.en",
        "evaluate --run r --test-set a\tb.en:a.fa",
    ],
)
def test_a_control_character_in_a_path_is_refused(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments.split(" "))
    assert caught.value.code == 2
    assert "has a control character, such as a tab or a line break" in capsys.readouterr().err


@pytest.mark.parametrize(
    "pipeline",
    [
        "yes abc | head -3000 | {translator} translate --run {run} | head -1",
        "true | true | {translator} runs {run} 2>&-",  # some service managers start programs with a closed stream
        "true | true | {translator} runs {run} >&-",
    ],
)
def test_a_closed_output_pipe_or_stream_causes_no_error(pipeline: str, random_run: Path) -> None:
    pipeline = pipeline.format(translator=shlex.join(COMMAND), run=shlex.quote(str(random_run)))
    command = ["bash", "-c", f'{pipeline}; exit "${{PIPESTATUS[2]}}"']
    done = subprocess.run(command, capture_output=True, env=ENVIRONMENT)
    assert done.returncode == 0
    assert done.stderr == b""
