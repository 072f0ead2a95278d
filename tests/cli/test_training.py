"""The verbs prepare and train: what they print, and which settings they refuse."""

import shlex
import sys
from pathlib import Path

import pytest

from tests.support.complaints import complaint
from tests.support.gpu_stand_ins import CUDA_13, use_torch
from tests.support.tiny_recipe import draw_nothing
from tests.support.toy_corpora import letters
from translator.cli import main

CONFIGS = Path(__file__).parents[2] / "configs"


def test_training_ends_with_scores_samples_and_the_next_commands(
    tiny_recipe: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAKELEVEL", raising=False)
    assert main(["train", "--config", str(tiny_recipe), "--set", "training.max_steps=4"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("translated ") == 3
    assert "evaluation/report.html" in printed
    for words in ("tok:13a", "chrf", "translator tensorboard ", "translator serve --run", "translator translate "):
        assert words in printed


def test_training_a_finished_run_says_how_to_continue_it(
    trained: Path, tiny_recipe: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAKELEVEL", "1")
    assert main(["train", "--config", str(tiny_recipe)]) == 0
    printed = capsys.readouterr().out
    assert "max_steps=12 is reached" in printed
    assert "To continue training" in printed
    assert "--allow-changed --set KEY=VALUE" in printed
    assert f"{sys.argv[0]} serve --run" in printed, "under make, the program that it starts"


QUICK = (
    "training.max_steps=2",
    "training.validate_every=2",
    "subword.vocabulary_size=270",
    "run.threads=1",
    "model.d_model=16",
    "model.feed_forward=16",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "corpus.filters.min_target_script=null",
)


@pytest.fixture
def two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command that trains on two files in an otherwise empty folder, with quick settings."""
    monkeypatch.chdir(tmp_path)
    draw_nothing(monkeypatch)
    for name in ("my.en", "my.fa"):
        Path(name).write_text("\n".join(letters(300, seed=1)), encoding="utf-8")
    return ["train", "--corpus", "my.en", "my.fa", "--set", *QUICK]


def test_two_files_are_enough_to_train(two_files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    # 1. A recipe is made for the corpus, and the run is trained.
    assert main(two_files) == 0
    captured = capsys.readouterr()
    assert "runs/my.yaml: a recipe for 300 pairs" in captured.out
    assert "The run is in runs/my (" in captured.out
    assert "300 training pairs: a model that is trained on so few repeats" not in captured.err, "some are held out"
    assert "training pairs: a model that is trained on so few repeats their sentences" in captured.err
    assert "translator fine-tune --run RUN --corpus" in captured.err

    # 2. The same command finds the run finished.
    assert main(two_files) == 0
    assert "runs/my is finished" in capsys.readouterr().out


def test_training_goes_on_from_what_prepare_made_of_two_files(
    two_files: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAKELEVEL", raising=False)
    assert main(["prepare", *two_files[1:]]) == 0
    printed = capsys.readouterr().out
    assert "runs/my.yaml: a recipe for 300 pairs" in printed
    assert "the report with examples: data/prepared/" in printed
    command = shlex.split(printed.splitlines()[-1].removeprefix("Next: translator "))
    assert command[:3] == ["train", "--config", "runs/my.yaml"]

    prepared = set(Path("data/prepared").rglob("*"))
    assert main(command) == 0
    assert set(Path("data/prepared").rglob("*")) == prepared


def test_training_shows_the_same_sentences_from_the_first_minute(
    tiny_recipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A tenth of 40 updates is after the start and before the first validation.
    overrides = ["training.max_steps=40", "training.validate_every=20"]
    assert main(["train", "--config", str(tiny_recipe), "--set", *overrides]) == 0
    lines = capsys.readouterr().err.splitlines()
    sources: dict[str, list[str]] = {}
    for number, line in enumerate(lines):
        if line.endswith(": the model translates"):
            shown = [text.partition("  →  ")[0] for text in lines[number + 1 : number + 4]]
            sources[line.partition(":")[0]] = shown
    assert list(sources) == ["step 0", "step 4", "step 20", "step 40"]
    assert all(shown == sources["step 0"] for shown in sources.values())
    assert all(text.startswith("  ") for text in sources["step 0"])


def test_prepare_prints_a_summary_and_writes_a_report(tiny_recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (tiny_recipe.parent / "toy.tsv").open("a", encoding="utf-8") as corpus:
        corpus.write("again\tagain\nagain\tagain\n")
    assert main(["prepare", "--config", str(tiny_recipe)]) == 0
    out = capsys.readouterr().out
    assert "dropped: duplicate" in out
    assert "pieces per word" in out
    page = Path(out.partition("examples: ")[2].splitlines()[0])
    assert page.name == "report.html"
    assert "again" in page.read_text(encoding="utf-8")


def test_a_missing_corpus_says_how_to_get_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    overrides = [f"run.directory={tmp_path}/run", f"corpus.sources.0.path={tmp_path}/mizan.zip"]
    message = complaint(capsys, "train", "--config", str(CONFIGS / "mizan.yaml"), "--set", *overrides)
    assert f"{tmp_path}/mizan.zip" in message
    assert "make download DATASET=mizan" in message
    assert not (tmp_path / "run").exists(), "no trace of a run that never began"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["subword.model_type=unigram", "subword.vocabulary_size=10"], "subword.vocabulary_size: 10 is too small"),
        (["corpus.filters.min_target_script=1.0"], "target_script"),
        (["corpus.split.test=500"], "corpus.split"),
        (["run.device=cuda:99"], "run.device"),
    ],
)
def test_impossible_settings_are_refused_with_their_key(
    overrides: list[str], message: str, tiny_recipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in complaint(capsys, "train", "--config", str(tiny_recipe), "--set", *overrides)


def test_training_on_a_gpu_that_torch_cannot_use_says_what_to_install(
    tiny_recipe: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_torch(monkeypatch, ["V100"], "13.0", CUDA_13)
    message = complaint(capsys, "train", "--config", str(tiny_recipe), "--set", "run.device=cuda")
    assert "run.device is `cuda`, but torch 2.13.0+cu130 has no code for GPU 0 (Tesla V100" in message
    assert "docs/training.md says what to install" in message


def test_training_on_the_cpu_in_place_of_an_unusable_gpu_warns_first(
    tiny_recipe: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_torch(monkeypatch, ["V100"], "13.0", CUDA_13)
    # The corpus is empty, so that the preparation fails after the warning.
    empty = tiny_recipe.with_name("none.tsv")
    empty.touch()
    overrides = ["run.device=auto", f"corpus.sources.0.path={empty}"]
    assert main(["train", "--config", str(tiny_recipe), "--set", *overrides]) == 2
    warning, _, _ = capsys.readouterr().err.partition("none.tsv")
    assert "warning: the CPU computes, not the GPU: torch 2.13.0+cu130 has no code for GPU 0" in warning
