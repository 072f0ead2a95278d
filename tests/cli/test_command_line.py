"""The command line as a user meets it: what each verb prints, where, and its exit code."""

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import draw_nothing
from toy import letters

from translator.cli import main, parser
from translator.cli.arguments import repeat_set
from translator.cli.completion import verbs_of
from translator.config import load_config
from translator.config.writing import schema_text

COMMAND = [sys.executable, "-m", "translator"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": ""}
CONFIGS = Path(__file__).parents[2] / "configs"
VERBS = dict(verbs_of(parser()))
LEAVES = [name for name in VERBS if not any(other.startswith(f"{name} ") for other in VERBS)]
EXAMPLES = [
    line.strip()
    for name in LEAVES
    for line in (VERBS[name].epilog or "").splitlines()
    if line.startswith("  translator ")
]


@pytest.mark.parametrize("name", LEAVES)
def test_every_verb_and_every_argument_is_explained(name: str) -> None:
    assert VERBS[name].description
    unexplained = [action.dest for action in VERBS[name]._actions if not action.help]
    assert unexplained == []


@pytest.mark.parametrize("command", EXAMPLES)
def test_every_example_in_the_help_is_a_valid_command(command: str) -> None:
    program, *arguments = shlex.split(command.partition(" < ")[0].partition(" > ")[0])
    assert program == "translator"
    assert isinstance(parser().parse_args(repeat_set(arguments)), argparse.Namespace)


def test_set_option_takes_several_settings_but_not_the_text_after_them() -> None:
    typed = ["translate", "--run", "a", "--set", "search.method=beam", "search.beam_size=3", "The year 1=one", "x=1"]
    options = parser().parse_args(repeat_set(typed))
    assert options.overrides == ["search.method=beam", "search.beam_size=3"]
    assert options.text == ["The year 1=one", "x=1"]


def test_recipes_are_listed_shown_and_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["recipe"]) == 0
    names = {line.split()[0] for line in capsys.readouterr().out.splitlines()[2:]}
    assert {"sample", "mizan", "mizan-small", "reference/r5"} <= names
    assert main(["recipe", "sample"]) == 0
    shown = capsys.readouterr().out
    assert shown == (CONFIGS / "sample.yaml").read_text(encoding="utf-8")
    assert main(["recipe", "sample", "--output", "mine/own.yaml"]) == 0
    assert "translator train --config mine/own.yaml" in capsys.readouterr().out
    assert load_config("mine/own.yaml") == load_config("sample")
    Path("mine/own.yaml").write_text("mine", encoding="utf-8")
    for arguments, message in (
        (["sample", "--output", "mine/own.yaml"], "own.yaml exists; choose another file"),
        (["sampel"], "unknown recipe `sampel`; shipped recipes: "),
    ):
        assert message in complaint(capsys, "recipe", *arguments)
    assert Path("mine/own.yaml").read_text(encoding="utf-8") == "mine"


def test_the_schema_is_printed_or_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(schema_text())
    assert main(["schema", "--output", str(tmp_path / "schema.json")]) == 0
    assert "$schema=schema.json" in capsys.readouterr().out
    assert (tmp_path / "schema.json").read_text(encoding="utf-8") == schema_text()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_verbs_options_and_recipes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    for words, expected in (
        (("tra",), {"train", "translate"}),
        (("export", "--to", "c"), {"ctranslate2"}),
        (("train", "--config", "samp"), {"sample"}),
    ):
        line = " ".join(("translator", *words))
        program = f"""
            complete() {{ builtin complete "$@"; chosen="${{@: -2:1}}"; }}
            source '{script}'
            COMP_WORDS=({line}); COMP_CWORD={len(words)}; COMP_LINE='{line}'; COMP_POINT={len(line)}
            $chosen translator '{words[-1]}' ''
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        done = subprocess.run(["bash", "--norc", "-c", program], capture_output=True, text=True, check=True)
        assert set(done.stdout.split()) == expected


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a verb that must fail, and return its one message; progress bars above it do not count."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err[captured.err.rindex("translator: ") :]


def test_training_ends_with_scores_samples_and_the_next_commands(
    tiny_recipe: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAKELEVEL", raising=False)
    assert main(["train", "--config", str(tiny_recipe)]) == 0
    out = capsys.readouterr().out
    assert out.count("translated ") == 3
    for told in ("tok:13a", "chrf", "translator tensorboard ", "translator evaluate --run", "translator translate "):
        assert told in out
    monkeypatch.setenv("MAKELEVEL", "1")
    assert main(["train", "--config", str(tiny_recipe)]) == 0
    again = capsys.readouterr().out
    for told in ("make tensorboard", "make evaluate RUN=", "max_steps=12 is reached", "To continue training"):
        assert told in again


def test_two_files_are_enough_to_train(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    draw_nothing(monkeypatch)
    words = letters(300, seed=1)
    for name in ("my.en", "my.fa"):
        (tmp_path / name).write_text("\n".join(words), encoding="utf-8")
    quick = ["training.max_steps=4", "training.validate_every=2", "subword.vocabulary_size=270", "run.threads=1"]
    quick += ["model.d_model=16", "model.feed_forward=16", "corpus.filters.min_target_script=null"]
    quick += ["evaluation.bootstrap_samples=40"]
    assert main(["train", "--corpus", "my.en", "my.fa", "--set", *quick]) == 0
    captured = capsys.readouterr()
    assert "runs/my.yaml: a recipe for 300 pairs" in captured.out and "The run is in runs/my (" in captured.out
    assert "what would help most: " in captured.err and "step 4: " in captured.err
    assert main(["train", "--corpus", "my.en", "my.fa", "--set", *quick]) == 0
    assert "runs/my is finished" in capsys.readouterr().out
    assert "nothing to train" in complaint(capsys, "train")


def test_prepare_prints_a_summary_and_writes_a_report(tiny_recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (tiny_recipe.parent / "toy.tsv").open("a", encoding="utf-8") as corpus:
        corpus.write("again\tagain\nagain\tagain\n")
    assert main(["prepare", "--config", str(tiny_recipe)]) == 0
    out = capsys.readouterr().out
    assert "dropped: duplicate" in out and "pieces/word" in out
    page = Path(out.strip().rpartition("examples: ")[2])
    assert page.name == "report.html"
    assert "again" in page.read_text(encoding="utf-8")


def test_translate_stops_on_a_signal_while_its_input_is_open(random_run: Path) -> None:
    command = [*COMMAND, "translate", "--run", str(random_run)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=ENVIRONMENT) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
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
    assert done.returncode == 0 and done.stderr == b""


def test_a_missing_corpus_says_how_to_get_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sets = [f"run.directory={tmp_path}/run", f"corpus.sources.0.path={tmp_path}/mizan.zip"]
    message = complaint(capsys, "train", "--config", str(CONFIGS / "mizan.yaml"), "--set", *sets)
    assert f"{tmp_path}/mizan.zip" in message and "make download DATASET=mizan" in message
    assert {file.name for file in (tmp_path / "run").iterdir()} <= {".lock"}, "no trace of a run that never began"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["subword.model_type=unigram", "subword.vocabulary_size=5000"], "subword.vocabulary_size: 5000 is more than"),
        (["corpus.filters.min_target_script=1.0"], "target_script"),
        (["corpus.split.test=500"], "corpus.split"),
        (["run.device=cuda:99"], "run.device"),
    ],
)
def test_impossible_settings_are_refused_with_their_key(
    overrides: list[str], message: str, tiny_recipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in complaint(capsys, "train", "--config", str(tiny_recipe), "--set", *overrides)
