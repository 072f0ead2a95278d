"""A mistake gives one message that says what is wrong, where, and what to do, with exit code 2; nothing is written."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fence.conftest import write_small_recipe
from tests.fence.damage import flip_last_bit, replace_weights, rewrite
from tests.fence.files import contents, read_json, read_lines, write_lines
from tests.support.command_line import refusal, succeed

SENTENCE = "The book is old."
MISTAKES, PATHS = (
    yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    for name in ("mistakes.yaml", "paths.yaml")
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder of a test: the recipe and corpus of the small language, some texts, and a home folder."""
    folder = tmp_path / "here"
    write_small_recipe(folder)
    (folder / "home").mkdir()
    (folder / "home" / "notes.txt").touch()
    write_lines(folder / "text.en", [SENTENCE])
    write_lines(folder / "en.txt", [SENTENCE, "Is the car big?"])
    write_lines(folder / "fa.txt", ["کتاب قدیمی است.", "آیا ماشین بزرگ است؟"])
    write_lines(folder / "short.fa", ["کتاب قدیمی است."])
    write_lines(folder / "blank.txt", ["", ""])
    write_lines(folder / "terms.tsv", ["book\tجزوه"])
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
    return message


# --- the table of mistakes ---


@pytest.fixture(scope="module")
def runs(small_run: Path, reverse_run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The runs that the table names."""
    folder = tmp_path_factory.mktemp("runs")
    no_evaluation = shutil.ignore_patterns("evaluation")
    copies = {
        "UNEVALUATED": shutil.copytree(small_run, folder / "unevaluated", symlinks=True, ignore=no_evaluation),
        "CHANGED": shutil.copytree(small_run, folder / "changed", symlinks=True),
        "ASKED": shutil.copytree(small_run, folder / "asked", symlinks=True),
    }
    for name, side, line in (("CHANGED", "reference", "در"), ("ASKED", "source", "Where is it?")):
        file = copies[name] / "evaluation" / "small" / f"{side}.txt"
        write_lines(file, [*read_lines(file)[:-1], line])
    exports = {"EXPORT": folder / "export", "CTRANSLATE": folder / "ctranslate2"}
    for kind, export in zip(("safetensors", "ctranslate2"), exports.values(), strict=True):
        succeed("export", "--run", small_run, "--to", kind, export)
    return {"RUN": small_run, "REVERSE": reverse_run, **exports, **copies}


def placed(text: str, runs: dict[str, Path]) -> str:
    """Return a text of a table with paths in the place of the names of runs."""
    return re.sub(r"\b[A-Z]{3,}\b", lambda name: str(runs.get(name[0], name[0])), text)


@pytest.mark.parametrize("case", MISTAKES, ids=lambda case: case["command"])
def test_a_mistake_is_told_and_nothing_is_written(case: dict[str, Any], runs: dict[str, Path]) -> None:
    written = case.get("files", {case["file"]: case["content"]} if "file" in case else {})
    for name, content in written.items():
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    results = contents(runs["RUN"] / "evaluation"), sorted(runs["RUN"].parent.iterdir())
    assert placed(case["says"], runs) in mistake(*placed(case["command"], runs).split())
    assert (contents(runs["RUN"] / "evaluation"), sorted(runs["RUN"].parent.iterdir())) == results


# --- several mistakes at once ---


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


# --- paths ---


def test_a_tilde_is_the_home_folder(here: Path, small_run: Path) -> None:
    shutil.copy("text.en", here / "home")
    succeed("recipe", "sample", "--output", "~/my.yaml")
    succeed("translate", "--run", small_run, "--input", "~/text.en", "--output", "~/text.out")
    assert {path.name for path in (here / "home").iterdir()} >= {"my.yaml", "text.out"}
    assert not (here / "~").exists()


@pytest.mark.parametrize("case", PATHS["places"], ids=lambda case: f"{case['commands']} {case['place']}")
def test_a_path_that_cannot_be_used_is_told_from_a_bug(
    case: dict[str, Any], here: Path, small_run: Path, request: pytest.FixtureRequest
) -> None:
    if case["place"] == "closed/x" and os.geteuid() == 0:
        pytest.skip("root may read and write everything")
    (here / "closed").mkdir(0)
    request.addfinalizer(lambda: (here / "closed").chmod(0o700))
    names = {"RUN": small_run, "LONG": Path("n" * 300)}
    place = placed(case["place"], names)
    for command in PATHS[case["commands"]]:
        message = mistake(*placed(command, {**names, "PLACE": Path(place)}).split())
        assert any(placed(words, names) in message for words in case["says"]), message


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
