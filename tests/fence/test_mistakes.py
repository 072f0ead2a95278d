"""A mistake gives one message that says what is wrong, where, and what to do, with exit code 2; nothing is written."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fence.conftest import write_small_recipe
from tests.fence.damage import flip_last_bit, replace_weights, rewrite
from tests.fence.files import read_json, write_lines
from tests.support.command_line import refusal, succeed

SENTENCE = "The book is old."
TOO_LONG = "n" * 300
SAMPLE = "--config", "sample", "--set"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder of a test: the recipe and corpus of the small language, some text, and a home folder."""
    folder = tmp_path / "here"
    write_small_recipe(folder)
    (folder / "home").mkdir()
    write_lines(folder / "text.en", [SENTENCE])
    (folder / "loop").symlink_to("loop")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))  # where its list of fonts is written
    yield folder


def files() -> dict[Path, bytes | None]:
    """Return every path below the current folder, and the content of each file."""
    return {path: path.read_bytes() if path.is_file() else None for path in Path.cwd().rglob("*")}


def mistake(*arguments: str | Path) -> str:
    """Return the message of a command that refuses its arguments; check that it says and writes nothing else."""
    before = files()
    message = refusal(*arguments)
    assert files() == before
    assert message.startswith("translator")
    return message


# --- the command ---


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("trian", "there is no verb `trian`; did you mean train?"),
        ("plot atention", "there is no verb `atention`; did you mean attention?"),
        ("translate --beem 5 x", "there is no option --beem; did you mean --beam?"),
        ("train --config sample training.max_steps=3", "did you mean --set training.max_steps=3?"),
        ("translate --beam many x", "argument --beam: invalid int value: 'many'"),
        ("translate --search greedy --beam 3 x", "--beam"),
        ("translate --beam 0 x", "--beam 0: the beam width must be at least 1; 5 is usual"),
        ("train", "give a recipe (--config sample) or your corpus (--corpus my.en my.fa)"),
        ("export --to marian", "the following arguments are required: FOLDER"),
        ("translate --output out.fa x", "--output needs --input FILE"),
    ],
)
def test_a_wrong_command_is_told_with_the_right_one(command: str, words: str) -> None:
    assert words in mistake(*command.split())


# --- the recipe ---


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("training.max_stepz", "did you mean `max_steps`?"),
        ("training.dropout", "did you mean `model.dropout`?"),
        ("training.beam_size", "did you mean `search.beam_size`?"),
        ("training.batch_size", "did you mean `batching.tokens_per_batch` or `search.batch_size`?"),
        ("training.epochs", "did you mean `max_steps`?"),
        ("training.fp16", "did you mean `precision`?"),
        ("training.lr", "did you mean `learning_rate`?"),
        ("batching.max_len", "did you mean `max_length`?"),
        ("model.num_layers", "did you mean `encoder_layers` or `decoder_layers`?"),
        ("model.hidden-size", "did you mean `d_model`?"),
        ("vocab_size", "did you mean `subword.vocabulary_size`?"),
        ("search.beam", "did you mean `beam_size`?"),
        ("run.zzz", "keys of this section: directory, seed, device, threads"),
    ],
)
def test_an_unknown_key_gets_the_key_that_was_meant(key: str, words: str) -> None:
    assert f"{key}: unknown key; {words}" in mistake("prepare", *SAMPLE, f"{key}=1")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("model.d_model=wide", "model.d_model: expected a valid integer, got 'wide'"),
        ("corpus.sources=small.tsv", "corpus.sources: expected a list, got 'small.tsv'"),
        ("run.directory=5", "run.directory: expected text, got 5; put it in quotes"),
        ("run.device=gpu", "run.device: expected `auto`, `cpu`, `mps`, `cuda` or `cuda:N`, got 'gpu'"),
        ("model.dropout=1.5", "model.dropout: expected a number less than 1, got 1.5"),
        ("model.heads=3", "model.heads: `heads` must divide `d_model` (heads: 3, d_model: "),
        ("model.heads", "write it as key.path=value"),
    ],
)
def test_a_wrong_value_is_told_with_what_is_expected(setting: str, words: str) -> None:
    assert f"--set {setting}: {words}" in mistake("train", *SAMPLE, setting)


def test_all_mistakes_of_a_recipe_are_told_at_once_with_their_lines() -> None:
    Path("keys.yaml").write_text(
        "run: {directory: runs/keys}\n"
        "corpus:\n"
        "  sources: [{name: x, pth: ~/pairs.tsv}]\n"
        "training:\n"
        "  dropout: 0.1\n"
        "  max_steps: many\n",
        encoding="utf-8",
    )
    message = mistake("prepare", "--config", "keys.yaml", "--set", "run.seed=-1")
    lines = message.splitlines()
    assert lines[0] == "translator: keys.yaml has 4 mistakes:"
    starts = [
        "  line 3: corpus.sources.0.pth: unknown key; did you mean `path`?",
        "  line 5: training.dropout: unknown key; did you mean `model.dropout`?",
        "  line 6: training.max_steps: expected a valid integer, got 'many'",
        "  --set run.seed=-1: run.seed: expected a number greater than or equal to 0, got -1",
    ]
    assert all(line.startswith(start) for line, start in zip(lines[1:], starts, strict=True)), message


def test_a_key_that_stands_twice_is_refused() -> None:
    Path("twice.yaml").write_text("run: {directory: x}\nsearch: {}\nrun: {directory: y}\n", encoding="utf-8")
    assert "line 3: run: duplicate key; remove one" in mistake("prepare", "--config", "twice.yaml")


def test_what_is_no_recipe_is_told_from_a_recipe() -> None:
    assert "no configuration file at smal.yaml; found there: small.yaml; shipped recipes: " in mistake(
        "prepare", "--config", "smal.yaml"
    )
    Path("broken.yaml").write_text("run: {directory: x\n", encoding="utf-8")
    assert "broken.yaml: line 2, column 1: not valid YAML" in mistake("prepare", "--config", "broken.yaml")
    Path("bytes.yaml").write_bytes(b"run: \xff\n")
    assert "bytes.yaml: not UTF-8 text (byte 5); save it as UTF-8" in mistake("prepare", "--config", "bytes.yaml")


def test_a_mistake_is_told_before_torch_is_imported(here: Path) -> None:
    # This torch ends whoever imports it.
    (here / "fake").mkdir()
    (here / "fake" / "torch.py").write_text("raise SystemExit('torch was imported')\n", encoding="utf-8")
    search_path = os.pathsep.join([str(here / "fake"), os.environ.get("PYTHONPATH", "")])
    for command in ("train --config small.yaml --set training.lr=1", "serve --run runs/none --port 0"):
        done = subprocess.run(
            [sys.executable, "-m", "translator", *command.split()],
            env={**os.environ, "PYTHONPATH": search_path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "torch was imported" not in done.stderr
        assert done.returncode == 2, done.stderr


# --- paths ---


def test_a_missing_run_or_text_is_named(small_run: Path) -> None:
    assert "no run at runs/none (the folder does not exist); train one first" in mistake(
        "translate", "--run", "runs/none", SENTENCE
    )
    assert "no run in the folder runs is finished; train one first" in mistake("translate", SENTENCE)
    assert "no run at home (" in mistake("evaluate", "--run", "home")
    assert "cannot read none.en: it does not exist" in mistake("translate", "--run", small_run, "--input", "none.en")
    assert "no checkpoint `7`" in mistake("translate", "--run", small_run, "--checkpoint", "7", SENTENCE)
    source = "corpus.sources.0.path=none.tsv"
    assert "corpus source `small`: none.tsv does not exist" in mistake(
        "train", "--config", "small.yaml", "--set", source
    )
    assert "`none.tsv` cannot be found" in mistake("evaluate", "--run", small_run, "--test-set", "none.tsv")


def test_a_tilde_is_the_home_folder_in_options_and_recipes(here: Path, small_run: Path) -> None:
    home = here / "home"
    for name in ("small.tsv", "text.en"):
        shutil.copy(here / name, home / name)
    shutil.copy(home / "text.en", home / "text.fa")

    succeed("recipe", "sample", "--output", "~/my.yaml")
    assert (home / "my.yaml").exists()
    succeed("translate", "--run", small_run, "--input", "~/text.en", "--output", "~/text.out")
    assert (home / "text.out").exists()
    assert not (here / "~").exists()

    recipe = ("--config", "small.yaml", "--set")
    assert f"{home}/none.tsv does not exist" in mistake("prepare", *recipe, "corpus.sources.0.path=~/none.tsv")
    assert f"{home}/text.en" in mistake("train", *recipe, "training.initialize_from=~/text.en")
    assert f"no run at {home}/none" in mistake("translate", "--run", "~/none", SENTENCE)
    assert f"the picture {home}/a.txt must end in" in mistake("plot", "curves", "runs/a", "--output", "~/a.txt")
    named = mistake("evaluate", "--run", small_run, "--test-set", "mine=~/none.en:~/text.fa")
    assert f"{home}/none.en" in named


def test_the_home_of_a_user_who_does_not_exist_is_refused() -> None:
    advice = "write ./~nobody-here/x for a path of that name"
    assert advice in mistake("recipe", "sample", "--output", "~nobody-here/x")
    assert advice in mistake("prepare", "--corpus", "text.en", "~nobody-here/x")
    assert "expected a home folder of this machine" in mistake("prepare", *SAMPLE, "run.directory=~nobody-here/x")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("text.en/x", ("a part of this path is a file, not a folder", "a file of this name exists")),
        ("loop/x", ("the symbolic links of this path form a circle", "a file of this name exists")),
        (TOO_LONG, ("the name is too long",)),
    ],
)
def test_a_path_that_cannot_be_written_is_told_from_a_bug(place: str, words: tuple[str, ...], small_run: Path) -> None:
    for command in [
        ("recipe", "sample", "--output", place),
        ("export", "--run", small_run, "--to", "safetensors", place),
        ("evaluate", "--run", small_run, "--output", place),
        ("train", "--config", "small.yaml", "--set", f"run.directory={place}"),
        ("fine-tune", "--run", small_run, "--corpus", "small.tsv", "--output", place),
    ]:
        message = mistake(*command)
        assert any(word in message for word in words), message


@pytest.mark.parametrize("place", ["text.en/x", "loop", TOO_LONG, "home"])
def test_a_path_that_cannot_be_read_is_told_from_a_bug(place: str, small_run: Path) -> None:
    for command in [
        ("prepare", "--config", place),
        ("translate", "--run", place, SENTENCE),
        ("translate", "--run", small_run, "--input", place),
        ("compare", place, small_run),
        ("train", "--corpus", place),
        ("evaluate", "--run", small_run, "--test-set", place),
        ("train", "--config", "small.yaml", "--set", f"training.initialize_from={place}"),
    ]:
        assert place in mistake(*command)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_a_folder_that_may_not_be_searched_is_named(here: Path, small_run: Path) -> None:
    closed = here / "closed"
    closed.mkdir()
    closed.chmod(0)
    for command in [
        ("recipe", "sample", "--output", "closed/x"),
        ("translate", "--run", "closed/x", SENTENCE),
        ("evaluate", "--run", small_run, "--test-set", "closed/x.tsv"),
        ("train", "--config", "small.yaml", "--set", "training.initialize_from=closed/x"),
        ("prepare", "--config", "small.yaml", "--set", "subword.models_from=closed/x"),
        ("train", "--config", "small.yaml", "--set", "run.directory=closed/x"),
        ("prepare", "--config", "closed/x.yaml"),
    ]:
        message = mistake(*command)
        assert "closed/x" in message
        assert "ermission denied" in message
    closed.chmod(0o700)


def test_an_output_that_would_destroy_a_file_is_refused(small_copy: Path) -> None:
    owned = small_copy / "config.yaml"
    assert f"{owned} is a file of the run" in mistake("compare", "text.en", small_copy, "--json", owned)
    assert "small.yaml exists; choose another file" in mistake("recipe", "sample", "--output", "small.yaml")
    assert "must end in .png or .svg" in mistake("plot", "curves", small_copy, "--output", "text.en")


def test_a_device_that_is_not_there_is_refused(small_run: Path) -> None:
    assert "cuda:7" in mistake("translate", "--run", small_run, "--device", "cuda:7", SENTENCE)
    assert "`cuda:N`, not `tpu`" in mistake("translate", "--run", small_run, "--device", "tpu", SENTENCE)


# --- damaged and foreign files of a run ---


def translated_with(run: Path) -> str:
    """Return the message of a translation with a damaged run."""
    shutil.rmtree(run / "export", ignore_errors=True)  # a copy of the model in another format
    return mistake("translate", "--run", run, "--engine", "torch", SENTENCE)


@pytest.mark.parametrize("damage", ["byte", "short", "state", "missing"])
def test_a_damaged_checkpoint_is_named_with_the_others(damage: str, small_copy: Path) -> None:
    newest = small_copy / "checkpoints" / "step-000150"
    weights = newest / "model.safetensors"
    if damage == "byte":
        flip_last_bit(weights)
    elif damage == "short":
        weights.write_bytes(weights.read_bytes()[:-1])
    elif damage == "state":
        (newest / "state.json").write_text("{}", encoding="utf-8")
    else:
        weights.unlink()
    message = translated_with(small_copy)
    assert "damaged checkpoint: " in message
    assert f"delete {newest}" in message
    assert "steps saved: 75" in message


@pytest.mark.parametrize("content", [b"no", b"\xff" * 64, b"\x02" + bytes(7) + b"[]", b"\x02" + bytes(7) + b"{}"])
def test_weights_of_another_program_are_told_from_a_bug(content: bytes, small_copy: Path) -> None:
    newest = small_copy / "checkpoints" / "step-000150"
    replace_weights(newest, content)
    assert str(newest) in translated_with(small_copy)


def test_a_checkpoint_beyond_the_end_of_its_epoch_is_told_from_a_bug(small_copy: Path) -> None:
    newest = small_copy / "checkpoints" / "step-000150"
    state = read_json(newest / "state.json")["state"]
    state["position"]["row"] = 1_000_000
    rewrite(newest / "state.json", state=state)
    settings = (f"run.directory={small_copy}", "training.max_steps=151")
    message = refusal("train", "--config", small_copy / "config.yaml", "--allow-changed", "--set", *settings)
    assert "resume at row 1000000 of epoch" in message
    assert "delete its folder to resume from the one before it" in message


def test_rules_of_a_normalizer_that_the_model_was_not_trained_with_are_refused(small_copy: Path) -> None:
    rewrite(small_copy / "subword" / "normalizer.json", again={"english": "(", "persian": "x"})
    assert "subword/normalizer.json of the run is missing, or is that of another run" in translated_with(small_copy)


@pytest.mark.parametrize("name", ["config.yaml", "subword/source.model", "subword/normalizer.json"])
def test_a_damaged_file_of_a_run_is_named(name: str, small_copy: Path) -> None:
    (small_copy / name).write_bytes(b"\x00damaged")
    assert str(small_copy / name) in translated_with(small_copy)
