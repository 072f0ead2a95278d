"""What the product promises, as a user sees it: through the command line and the Python API only.

These tests import `translator.cli.main` and `translator.Translator` only, so they do not depend on other modules.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from translator import Translator
from translator.cli import main

RECIPE = """
run: {{directory: "{folder}/run", seed: 1, device: cpu, threads: 1}}
corpus:
  sources: [{{name: toy, path: "{folder}/toy.tsv"}}]
  split: {{validation: 20, test: 20}}
  prepared_directory: "{folder}/prepared"
subword: {{model_type: char, vocabulary_size: 60}}
batching: {{tokens_per_batch: 400, max_length: 40}}
model: {{d_model: 32, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 64, dropout: 0.1,
  max_positions: 64}}
training:
  {{precision: float32, max_steps: 160, warmup_steps: 20, learning_rate: 0.01, log_every: 10, validate_every: 40,
   validation_sentences: 8, checkpoint_every: 20, keep_best: 2}}
search: {{method: greedy}}
"""
TAGS = {
    "loss": ["train", "validation"],
    "quality": ["bleu", "chrf", "test_bleu", "test_chrf"],
    "train": [
        *("perplexity", "learning_rate", "gradient_norm"),
        *("epoch", "tokens_seen", "skipped_updates"),
    ],
    "speed": ["tokens_per_second", "padding", "data_wait", "memory_mib"],
    "validation": ["perplexity"],
    "train_by_source": ["toy"],
    "test_by_set": ["toy/bleu", "toy/chrf++"],
}
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": ""}


def persian(word: str) -> str:
    return word.translate(str.maketrans("abcdefgh", "ابپتجچحخ"))


def write_recipe(folder: Path) -> Path:
    generator = random.Random(1)
    words = set()
    for _ in range(400):
        length = generator.randint(3, 8)
        words.add("".join(generator.choices("abcdefgh", k=length)))
    pairs = [f"{word}\t{persian(word)}\n" for word in sorted(words)]
    (folder / "toy.tsv").write_text("".join(pairs), encoding="utf-8")
    recipe = folder / "tiny.yaml"
    recipe.write_text(RECIPE.format(folder=folder), encoding="utf-8")
    return recipe


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    assert main(["train", "--config", str(write_recipe(folder))]) == 0
    return folder


def program(*arguments: str, text: bytes | None = None) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "translator", *arguments]
    return subprocess.run(command, input=text, capture_output=True, check=False, env=ENVIRONMENT)


def scores(run: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((run / "evaluation" / "scores.json").read_text(encoding="utf-8"))
    return entries


def greedy_scores(run: Path) -> list[float]:
    return [entry["score"] for entry in scores(run) if entry["search"] == "greedy"]


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_finished_run_folder_has_the_documented_layout(home: Path) -> None:
    run = home / "run"
    for name in ("config.yaml", "run.json", "log.txt", "subword/source.model", "subword/target.model"):
        assert (run / name).is_file(), name
    for link in ("best", "last"):
        checkpoint = run / "checkpoints" / link
        assert checkpoint.is_symlink()
        assert checkpoint.resolve().name.startswith("step-000")
        for name in ("model.safetensors", "optimizer.safetensors", "state.json"):
            assert (checkpoint / name).is_file(), name
    assert (run / "checkpoints" / "last").resolve().name == "step-000160"
    assert list((run / "tensorboard").glob("events.out.tfevents.*"))
    assert (run / "evaluation" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    (hypotheses,) = (run / "evaluation" / "toy").glob("*.greedy.txt")
    assert len(lines(hypotheses)) == 20
    provenance = (run / "run.json").read_text(encoding="utf-8")
    for library in ("torch", "sentencepiece", "sacrebleu"):
        assert library in provenance


def raw_score(run: Path, metric: str) -> dict[str, Any]:
    """Return the entry of a greedy search's score on raw text."""
    for entry in scores(run):
        if (entry["metric"], entry["normalization"], entry["search"]) == (metric, "raw", "greedy"):
            return entry
    pytest.fail(f"no score {metric}")


def test_scores_carry_what_is_needed_to_repeat_them(home: Path) -> None:
    keys = {"test_set", "metric", "score", "signature", "normalization", "search", "checkpoint"}
    keys |= {"sentences", "left_out", "interval"}
    for entry in scores(home / "run"):
        assert keys <= entry.keys()


def test_the_first_score_is_bleu_on_raw_text(home: Path) -> None:
    first = scores(home / "run")[0]
    assert first["metric"] == "bleu"
    assert first["normalization"] == "raw"


def test_bleu_is_counted_in_words_of_13a_on_all_sentences(home: Path) -> None:
    bleu = raw_score(home / "run", "bleu")
    assert "tok:13a" in bleu["signature"]
    assert bleu["sentences"] == 20


def test_a_score_lies_in_its_interval(home: Path) -> None:
    chrf = raw_score(home / "run", "chrf")
    assert chrf["interval"][0] <= chrf["score"] <= chrf["interval"][1]


def test_the_toy_language_was_learned_in_part(home: Path) -> None:
    """So that the translations of the other tests mean something."""
    assert raw_score(home / "run", "chrf")["score"] > 5


def test_scores_are_given_for_three_spellings(home: Path) -> None:
    spellings = {entry["normalization"] for entry in scores(home / "run")}
    assert len(spellings) == 3, "raw, normalized, and with half-spaces as spaces"


def test_run_writes_all_tensorboard_tags(home: Path) -> None:
    events = EventAccumulator(str(home / "run" / "tensorboard"))
    events.Reload()
    tags = events.Tags()
    for group, names in TAGS.items():
        for name in names:
            assert f"{group}/{name}" in tags["scalars"]
    assert "validation/attention" in tags["images"]
    assert "validation/translations/text_summary" in tags["tensors"]


def test_finished_run_says_so_and_continues_with_more_steps(home: Path, tmp_path: Path, capsys: Any) -> None:
    train = ["train", "--config", str(write_recipe(tmp_path)), "--set"]

    # The same command again finds the run finished.
    assert main([*train, "training.max_steps=20"]) == 0
    capsys.readouterr()
    assert main([*train, "training.max_steps=20"]) == 0
    assert "is finished" in capsys.readouterr().out

    # More steps continue it.
    assert main([*train, "training.max_steps=40"]) == 0
    assert (tmp_path / "run" / "checkpoints" / "last").resolve().name == "step-000040"
    capsys.readouterr()

    # A changed setting has to be allowed.
    with_more_dropout = [*train, "training.max_steps=60", "--set", "model.dropout=0.3"]
    assert main(with_more_dropout) == 2
    assert "--allow-changed" in capsys.readouterr().err
    assert main([*with_more_dropout, "--allow-changed"]) == 0


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_stopped_and_resumed_run_is_bit_identical(home: Path, tmp_path: Path, sign: int, code: int) -> None:
    # A run that is stopped after its first checkpoint.
    recipe = write_recipe(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-m", "translator", "train", "--config", str(recipe)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=ENVIRONMENT,
    ) as training:
        checkpoints = tmp_path / "run" / "checkpoints"
        while training.poll() is None and not (checkpoints / "step-000020" / "state.json").exists():
            time.sleep(0.01)
        training.send_signal(sign)
        output, _ = training.communicate()
    assert training.returncode == code, output.decode()
    assert b"Traceback" not in output
    stopped_at = (checkpoints / "last").resolve().name
    assert stopped_at < "step-000160", "it was stopped before its end"

    # Resumed, it ends as the run that was never stopped.
    assert main(["train", "--config", str(recipe)]) == 0
    for link in ("last", "best"):
        for name in ("model.safetensors", "optimizer.safetensors"):
            resumed = load_file(checkpoints / link / name)
            uninterrupted = load_file(home / "run" / "checkpoints" / link / name)
            assert resumed.keys() == uninterrupted.keys()
            for key, values in resumed.items():
                assert (values == uninterrupted[key]).all(), f"{link}/{name}: {key}"
    assert greedy_scores(tmp_path / "run") == greedy_scores(home / "run")


def test_evaluate_and_compare_print_and_record_scores(home: Path, capsys: Any) -> None:
    run = home / "run"
    assert main(["evaluate", "--run", str(run), "--search", "beam", "--beam", "3"]) == 0
    out = capsys.readouterr().out
    assert "beam-3" in out
    assert "tok:13a" in out
    assert {entry["search"] for entry in scores(run)} >= {"beam-3", "greedy"}

    second_run = home / "again"
    shutil.copytree(run, second_run, symlinks=True)
    table = home / "comparison.json"
    flags = ["--json", str(table)]
    assert main(["compare", str(run), str(second_run), *flags]) == 0
    assert "toy" in capsys.readouterr().out
    assert json.loads(table.read_text(encoding="utf-8"))


TEXT = "abc\n\nfgh\r\n  \nhäb\nab\u2028cd\n" + "abcdefgh " * 30


@pytest.fixture(scope="module")
def translated_text(home: Path) -> str:
    """What `translate` prints for TEXT on standard input."""
    done = program("translate", "--run", str(home / "run"), text=TEXT.encode())
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_translate_gives_one_output_line_per_input_line(translated_text: str) -> None:
    assert translated_text.endswith("\n")
    translations = translated_text[:-1].split("\n")
    assert [bool(translation) for translation in translations] == [True, False, True, False, True, True, True]


def test_translate_writes_to_a_file_what_it_prints(home: Path, tmp_path: Path, translated_text: str) -> None:
    source = tmp_path / "in.txt"
    target = tmp_path / "out.txt"
    source.write_bytes(TEXT.encode())
    files = ["--input", str(source), "--output", str(target)]
    assert main(["translate", "--run", str(home / "run"), *files]) == 0
    assert target.read_text(encoding="utf-8") == translated_text


def test_the_library_translates_as_the_program_does(home: Path, translated_text: str) -> None:
    first, _, third, *_ = translated_text.split("\n")
    translator = Translator.load(home / "run")
    assert translator.translate_lines(["abc", "", "fgh"]) == [first, "", third]
    assert translator.translate("abc") == first


def test_json_lines_output_has_n_best_translations_per_line(home: Path, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "in.txt").write_text("abc\nfgh\n", encoding="utf-8")
    search = ["--search", "beam", "--beam", "3", "--n-best", "3"]
    output = ["--format", "jsonl", "--scores", "--alignment"]
    command = ["translate", "--run", str(home / "run"), "--input", str(tmp_path / "in.txt")]
    assert main([*command, *search, *output]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [len(row["translations"]) for row in rows] == [3, 3]


@pytest.mark.parametrize("form", ["ctranslate2", "safetensors"])
def test_an_export_translates_as_the_run_does(home: Path, tmp_path: Path, form: str, capsys: Any) -> None:
    run = home / "run"
    export = tmp_path / "exported"
    assert main(["export", "--run", str(run), "--to", form, str(export)]) == 0
    assert (export / "README.md").is_file()
    capsys.readouterr()

    words = ["abc", "fgh", "habgde", "eeee", "dcbaab"]
    source = tmp_path / "in.txt"
    source.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    assert main(["translate", "--run", str(export), "--input", str(source)]) == 0
    translations = capsys.readouterr().out.splitlines()
    assert translations == Translator.load(run).translate_lines(words)


def test_checkpoints_are_averaged(home: Path) -> None:
    assert main(["average", "--run", str(home / "run"), "--count", "2", "--of", "best"]) == 0
    assert (home / "run" / "checkpoints" / "averaged" / "model.safetensors").is_file()
    assert Translator.load(home / "run", checkpoint="averaged").translate("abc") != ""


def bad_inputs(folder: Path) -> dict[str, tuple[list[str], str]]:
    """Return wrong commands by the mistake that they make, each with a word that its message has."""
    run = str(folder / "run")
    no_run = str(folder / "nowhere")
    train = ["train", "--config", str(folder / "tiny.yaml"), "--set", f"run.directory={folder}/never", "--set"]
    translate = ["translate", "--run", run]
    return {
        "no recipe": (["train", "--config", str(folder / "none.yaml")], "none.yaml"),
        "unknown key": ([*train, "training.max_step=3"], "max_steps"),
        "wrong value": ([*train, "model.heads=3"], "heads"),
        "no corpus": ([*train, f"corpus.sources.0.path={folder}/none.tsv"], "none.tsv"),
        "no run": (["evaluate", "--run", no_run], "nowhere"),
        "no run to translate": (["translate", "--run", no_run, "abc"], "nowhere"),
        "no checkpoint": ([*translate, "--checkpoint", "7", "abc"], "7"),
        "greedy beam": ([*translate, "--search", "greedy", "--beam", "3", "a"], "--beam"),
        "no input": ([*translate, "--input", str(folder / "none.txt")], "none.txt"),
        "full folder": (["export", "--run", run, "--to", "safetensors", str(folder)], str(folder)),
    }


@pytest.mark.parametrize("name", list(bad_inputs(Path())))
def test_a_mistake_gets_one_message_and_code_2(home: Path, name: str, capsys: Any) -> None:
    arguments, expected = bad_inputs(home)[name]
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    assert captured.err.count("translator: ") == 1
    assert expected in captured.err
    assert list((home / "never").glob("checkpoints/*")) == []


def test_training_does_not_resume_from_a_damaged_checkpoint(home: Path, tmp_path: Path) -> None:
    train = ["train", "--config", str(write_recipe(tmp_path)), "--set"]
    checkpoints = tmp_path / "run" / "checkpoints"
    assert main([*train, "training.max_steps=40"]) == 0
    weights_file = checkpoints / "step-000040" / "model.safetensors"
    weights_file.write_bytes(weights_file.read_bytes()[:-100])

    assert main([*train, "training.max_steps=60"]) == 0
    weights = load_file(checkpoints / "step-000060" / "model.safetensors")
    for name, values in weights.items():
        assert not np.isnan(values).any(), name
    assert main(["translate", "--run", str(tmp_path / "run"), "--checkpoint", "last", "abc"]) == 0


def test_help_is_printed_without_importing_torch() -> None:
    script = "import sys; from translator.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    script += "sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 0
    verbs = "prepare train evaluate compare translate export serve average doctor"
    for verb in verbs.split():
        assert f"  {verb}" in done.stdout.decode()
