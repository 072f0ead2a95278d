"""The command line, as a person meets it: what is said, where it is said, and the exit code."""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from toy import write_pairs

from translator.cli import main

COMMAND = [sys.executable, "-m", "translator"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": ""}


def run(
    *arguments: str, text: bytes | None = None, output: int | BinaryIO = subprocess.PIPE
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own."""
    return subprocess.run(
        [*COMMAND, *arguments], input=text, stdout=output, stderr=subprocess.PIPE, check=False, env=ENVIRONMENT
    )


def run_in_bash(script: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash."""
    return subprocess.run(["bash", "-c", script], capture_output=True, check=False, env=ENVIRONMENT)


@pytest.fixture
def open_input() -> Iterator[tuple[int, int]]:
    """Both ends of a pipe that does not end: one to read from, one to write to."""
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)
    os.close(writing)


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
    assert "bleu" in out
    assert "tok:13a" in out
    assert "chrf" in out
    assert out.count("translated ") == 3
    for next_command in ("translator tensorboard ", "translator evaluate --run", "translator translate --run"):
        assert next_command in out
    monkeypatch.setenv("MAKELEVEL", "1")
    assert main(["train", "--config", str(tiny_recipe)]) == 0
    again = capsys.readouterr().out
    for next_command in ("make tensorboard", "make evaluate RUN=", "make translate RUN="):
        assert next_command in again
    assert "is finished: training.max_steps=12 is reached" in again
    assert "To train it longer" in again


def test_prepare_prints_what_it_did_and_writes_the_page(tiny_recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (tiny_recipe.parent / "toy.tsv").open("a", encoding="utf-8") as corpus:
        corpus.write("again\tagain\nagain\tagain\n")
    assert main(["prepare", "--config", str(tiny_recipe)]) == 0
    out = capsys.readouterr().out
    assert "dropped: duplicate" in out
    assert "train" in out
    assert "pieces/word" in out
    page = Path(out.strip().rpartition("examples: ")[2])
    assert page.name == "report.html"
    assert "again" in page.read_text(encoding="utf-8")


def test_overlap_of_two_corpora(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pairs(tmp_path / "a.tsv", [("Yes!", "بله"), ("No", "نه"), ("Perhaps", "شاید")])
    write_pairs(tmp_path / "b.tsv", [("yes", "آری"), ("Never", "هرگز")])
    assert main(["corpus", "overlap", str(tmp_path / "a.tsv"), str(tmp_path / "b.tsv")]) == 0
    assert "Yes!" in capsys.readouterr().out
    assert main(["corpus", "overlap", str(tmp_path / "a.tsv"), str(tmp_path / "missing.tsv")]) == 2
    assert "cannot be found" in capsys.readouterr().err


def test_download_lists_what_there_is_and_refuses_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["download"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("mizan", "tatoeba", "flores200"))
    assert main(["download", "miz"]) == 2
    assert "mizan" in capsys.readouterr().err


def test_evaluate_writes_scores_that_carry_their_signature(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--run", str(trained), "--search", "beam", "--beam", "3"]) == 0
    captured = capsys.readouterr()
    assert "beam" not in captured.err
    table = captured.out.split("\n\n")[0].splitlines()
    assert table[0].split()[:6] == ["test", "set", "metric", "search", "checkpoint", "raw"]
    checkpoint = (trained / "checkpoints" / "best").resolve().name
    rows = [line for line in table[2:] if line.startswith("toy")]
    for column, values in (("search", {"beam-3"}), ("checkpoint", {checkpoint}), ("test set", {"toy"})):
        start = table[0].index(column)
        assert {line[start:].split()[0] for line in rows} == values, "each value stands under its heading"
    entries = json.loads((trained / "evaluation" / "scores.json").read_text(encoding="utf-8"))
    assert (entries[0]["metric"], entries[0]["normalization"]) == ("bleu", "raw")
    keys = {"test_set", "metric", "score", "signature", "normalization", "search", "checkpoint", "sentences"}
    assert all(keys <= entry.keys() for entry in entries)
    assert {entry["search"] for entry in entries} == {"greedy", "beam-3"}


def test_translate_gives_a_line_for_each_line(trained: Path) -> None:
    text = "abc\n\nfgh\r\n  \nhäb\nab\u2028cd".encode()
    done = run("translate", "--run", str(trained), text=text)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.decode().split("\n")
    assert len(lines) == 7
    assert lines[-1] == ""
    assert lines[1] == lines[3] == ""


def test_translate_takes_arguments(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", "--run", str(trained), "abc", "def"]) == 0
    assert len(capsys.readouterr().out.split("\n")) == 3


def test_input_that_is_not_utf8_is_named_after_the_lines_before_it(trained: Path, open_input: tuple[int, int]) -> None:
    os.write(open_input[1], b"abc\nde\xffg\nabc\n")
    done = subprocess.run(
        [*COMMAND, "translate", "--run", str(trained)],
        stdin=open_input[0],
        capture_output=True,
        check=False,
        env=ENVIRONMENT,
    )
    assert done.returncode == 2
    assert done.stdout.count(b"\n") == 1
    assert done.stderr.startswith(b"translator: line 2 of the input is not UTF-8 (byte 3 of the line)")
    assert done.stderr.count(b"\n") == 1


def test_a_stop_signal_while_more_input_may_come(trained: Path, open_input: tuple[int, int]) -> None:
    process = subprocess.Popen(
        [*COMMAND, "translate", "--run", str(trained)],
        stdin=open_input[0],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    os.write(open_input[1], b"abc\n")
    assert process.stdout is not None
    assert process.stdout.readline().endswith(b"\n"), "the line comes out while the input is open"
    process.send_signal(signal.SIGINT)
    assert process.communicate() == (b"", b"translator: stopped by signal 2\n")
    assert process.returncode == 130


def test_another_stop_signal_while_more_input_may_come(
    trained: Path, open_input: tuple[int, int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()

    def stop_after_a_line() -> None:
        with os.fdopen(reading, "rb") as lines:
            if lines.readline():
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    os.write(open_input[1], b"abc\n")
    reader = threading.Thread(target=stop_after_a_line)
    reader.start()
    with os.fdopen(open_input[0], closefd=False) as source, os.fdopen(writing, "w") as output:
        monkeypatch.setattr(sys, "stdin", source)
        monkeypatch.setattr(sys, "stdout", output)
        assert main(["translate", "--run", str(trained)]) == 143
    reader.join()
    assert capsys.readouterr().err == "translator: stopped by signal 15\n"


def test_a_reader_that_goes_away_is_no_error(trained: Path) -> None:
    pipeline = f"yes abc | head -3000 | {shlex.join(COMMAND)} translate --run {trained} | head -1"
    done = run_in_bash(f'{pipeline}; exit "${{PIPESTATUS[2]}}"')
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") == 1


def test_a_closed_standard_input_is_named(tmp_path: Path) -> None:
    done = run_in_bash(f"{shlex.join(COMMAND)} translate --run {tmp_path} <&-")
    assert done.returncode == 2
    assert done.stderr.startswith(b"translator: standard input is closed; give the text as arguments")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_an_output_on_a_full_disk_is_one_message(trained: Path, tiny_recipe: Path) -> None:
    for arguments in (
        ["--help"],
        ["train", "--config", str(tiny_recipe)],
        ["translate", "--run", str(trained)],
    ):
        with Path("/dev/full").open("wb") as full:
            done = run(*arguments, text=b"abc\n", output=full)
        assert done.returncode == 2
        last = done.stderr[done.stderr.index(b"translator: ") :]
        assert last.startswith(b"translator: cannot write standard output: the disk is full; free some space")
        assert last.count(b"\n") == 1, "neither a traceback nor a complaint of the interpreter at its exit"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_what_prepare_says_on_a_full_disk_is_one_message(
    trained: Path, tiny_recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        message = complaint(capsys, "prepare", "--config", str(tiny_recipe))
    assert message.startswith("translator: cannot write standard output: the disk is full; free some space")


@pytest.mark.parametrize("verb", ["evaluate", "translate"])
def test_greedy_search_has_no_beam(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    message = complaint(capsys, verb, "--run", "nowhere", "--search", "greedy", "--beam", "5")
    assert "--beam 5 means nothing with --search greedy" in message
    assert "leave out --beam, or take --search beam" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["translate", "--run", "nowhere", "hello"], "no run at nowhere"),
        (["evaluate", "--run", "nowhere"], "train one first: make train"),
        (["train", "--config", "nowhere.yaml"], "no configuration file at nowhere.yaml"),
    ],
)
def test_what_is_not_there_is_named(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in complaint(capsys, *arguments)


def test_a_missing_corpus_says_how_to_get_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    overrides = [f"run.directory={tmp_path}/run", f"corpus.sources.0.path={tmp_path}/mizan.zip"]
    sets = [part for override in overrides for part in ("--set", override)]
    recipe = Path(__file__).parents[1] / "configs" / "mizan.yaml"
    message = complaint(capsys, "train", "--config", str(recipe), *sets)
    assert f"{tmp_path}/mizan.zip" in message
    assert "make download DATASET=mizan" in message
    assert list((tmp_path / "run").iterdir()) == [], "no trace of a run that never began"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["subword.model_type=unigram", "subword.vocabulary_size=5000"], "subword.vocabulary_size: 5000 is more than"),
        (["corpus.filters.min_target_script=1.0"], "target_script"),
        (["corpus.split.test=500"], "corpus.split"),
        (["training.max_stepz=3"], "did you mean `max_steps`?"),
        (["training.max_steps=many"], "expected a valid integer"),
        (["run.device=cuda:99"], "run.device"),
    ],
)
def test_settings_that_cannot_be(
    overrides: list[str], message: str, tiny_recipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = [part for override in overrides for part in ("--set", override)]
    assert message in complaint(capsys, "train", "--config", str(tiny_recipe), *sets)


def test_a_mistake_mended_leaves_the_way_free(tiny_recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = ["--set", "subword.model_type=unigram", "--set", "subword.vocabulary_size=5000"]
    complaint(capsys, "train", "--config", str(tiny_recipe), *sets)
    assert main(["train", "--config", str(tiny_recipe)]) == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "there is no line in"),
        (b"one column\n", "line 1"),
        (b"abc\tdef\n\xff\xfe\tx\n", "UTF-8"),
    ],
)
def test_a_corpus_that_is_broken(
    content: bytes, message: str, tiny_recipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tiny_recipe.parent / "toy.tsv").write_bytes(content)
    assert message in complaint(capsys, "train", "--config", str(tiny_recipe))


def test_settings_of_training_cannot_change_at_evaluation(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = complaint(capsys, "evaluate", "--run", str(trained), "--set", "model.d_model=32")
    assert "a trained run cannot take these settings" in message
    assert "model.d_model: 16 → 32" in message


def test_a_damaged_checkpoint_is_one_message(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = (trained / "checkpoints" / "best" / "model.safetensors").resolve()
    model.write_bytes(model.read_bytes()[:-1])
    assert "damaged checkpoint" in complaint(capsys, "translate", "--run", str(trained), "abc")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stop_signal_saves_and_the_run_goes_on_later(
    tiny_recipe: Path, number: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tiny_recipe.parent / "run"
    command = [*COMMAND, "train", "--config", str(tiny_recipe), "--set"]
    long = subprocess.Popen([*command, "training.max_steps=100000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (folder / "checkpoints" / "last").exists():
        assert long.poll() is None, long.communicate()[1].decode()
        time.sleep(0.05)
    long.send_signal(number)
    _, errors = long.communicate()
    assert long.returncode == code, errors.decode()
    assert b"the same command goes on from here" in errors
    assert b"Traceback" not in errors
    steps = int((folder / "checkpoints" / "last").resolve().name.removeprefix("step-"))
    assert main([*command[3:], f"training.max_steps={steps + 2}"]) == 0
    out, err = capsys.readouterr()
    assert "resuming from" in err
    assert f"({steps + 2} steps" in out


def test_help_and_version_are_quick_to_say(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in ((["--help"], "prepare"), (["train", "--help"], "--set"), (["--version"], "translator 0.")):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        assert words in capsys.readouterr().out


def test_help_does_not_load_torch() -> None:
    code = "import sys; from translator.cli import parser; parser(); assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_closed_streams_are_no_bug(tmp_path: Path) -> None:
    """Some service managers start programs so."""
    for closing, expected in (("2>&-", 0), (">&-", 2)):  # what is lost is not done
        command = f"{shlex.quote(sys.executable)} -m translator runs {shlex.quote(str(tmp_path))} {closing}"
        done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
        assert done.returncode == expected, done.stderr
