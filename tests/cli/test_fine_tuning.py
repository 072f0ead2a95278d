"""The verb fine-tune: what a run on new text takes over, what it replays, what it reuses, and what it refuses."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.derived_runs import SHORT, config_of, recipe, with_translations
from tests.support.toy_corpora import write_pairs
from tests.support.untrained import untrained_run
from translator.cli import main
from translator.config import load_config
from translator.corpus.prepare import prepare_corpus
from translator.data import DataHandler
from translator.recipes.corpus_recipe import CorpusSize
from translator.recipes.fine_tuning import fine_tuning_changes
from translator.run.folder import RunFolder
from translator.run.signals import StopRequest
from translator.subword.model import read_word_counts

pytestmark = pytest.mark.usefixtures("little_effort")
DROPOUTS = ("dropout", "attention_dropout", "feed_forward_dropout")


def fine_tune(folder: Path, *flags: str, run: str = "en-fa", corpus: str = "new.tsv", output: str = "tuned") -> int:
    places = ["--run", str(folder / run), "--corpus", str(folder / corpus), "--output", str(folder / output)]
    return main(["fine-tune", *places, *flags, "--set", *SHORT])


@pytest.fixture
def without_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a run with random weights where the verb trains one, and compare nothing."""

    def write_run(recipe: str, overrides: Sequence[str], stop: StopRequest) -> None:
        untrained_run(load_config(recipe, overrides))

    monkeypatch.setattr("translator.cli.deriving.train_recipe", write_run)
    monkeypatch.setattr("translator.cli.deriving.compare_runs", lambda *_: None)


@pytest.mark.usefixtures("without_training")
def test_a_fine_tuned_run_keeps_the_text_and_the_model_of_its_parent_without_dropout(folder: Path) -> None:
    assert fine_tune(folder) == 0
    parent, config = config_of(folder, "en-fa"), config_of(folder, "tuned")
    assert config.model == parent.model.model_copy(update=dict.fromkeys(DROPOUTS, 0.0)) != parent.model
    assert config.training.best_metric == load_config("fine-tune").training.best_metric != parent.training.best_metric
    before, after = prepare_corpus(parent.corpus), prepare_corpus(config.corpus)
    assert list(after.pairs("train", "toy")) == list(before.pairs("train", "toy"))
    assert after.count("validation", "toy") == after.count("validation", "new") == 3, "old and new text in equal parts"

    # The recipe says why it changes a setting, unless the user did.
    lines = (folder / "tuned.yaml").read_text(encoding="utf-8").splitlines()
    assert any(
        line.startswith("  learning_rate: ") and "# a third of the run's, at most that of " in line for line in lines
    )
    assert "  max_steps: 2" in lines


@pytest.mark.usefixtures("without_training")
def test_replayed_text_samples_each_source_by_its_weight(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Copy as many old pairs as there are new ones: 60 from `new.tsv`, 64 from `third.tsv`.
    monkeypatch.setattr("translator.recipes.fine_tuning._REPLAYED_PAIRS", 1)

    # 1. The first fine-tuning replays 60 of 130 pairs, evenly spaced.
    assert fine_tune(folder, output="sample") == 0
    old_pairs = list(prepare_corpus(config_of(folder, "en-fa").corpus).pairs("train", "toy"))
    replayed_pairs = list(prepare_corpus(config_of(folder, "sample").corpus).pairs("train", "toy"))
    expected_pairs = []
    for row, pair in enumerate(old_pairs):
        if row % 13 in (0, 2, 4, 6, 8, 10):  # 6 of 13 are 60 of 130
            expected_pairs.append(pair)
    assert replayed_pairs == expected_pairs

    # 2. The second replays text of both sources of the first, in their proportion there.
    third_texts = [f"{first} {second}" for first in "abcdefgh" for second in "abcdefgh"]
    write_pairs(folder / "third.tsv", with_translations(third_texts))
    assert fine_tune(folder, run="sample", corpus="third.tsv", output="again") == 0
    config = config_of(folder, "again")
    corpus = prepare_corpus(config.corpus)
    assert corpus.count("train", "new") == 13
    assert corpus.count("train", "toy") == 51
    held_out = {name: corpus.count("validation", name) for name in ("third", "new", "toy")}
    assert held_out == {"third": 3, "new": 1, "toy": 1}, "old text has no more part in the choice than new text"
    rows = {row.name: row.drawn for row in DataHandler(config).mixture}
    total = sum(rows.values())
    assert rows["new"] / total == pytest.approx(0.8 * 0.2, abs=0.02)
    assert rows["toy"] / total == pytest.approx(0.8 * 0.8, abs=0.02)


@pytest.mark.usefixtures("without_training")
def test_a_single_pair_under_a_taken_name_is_enough_without_replay(folder: Path) -> None:
    (folder / "a").mkdir()
    write_pairs(folder / "a" / "toy.tsv", with_translations(["abc"]))
    assert fine_tune(folder, "--replay", "0", corpus="a/toy.tsv", output="alone") == 0
    corpus = prepare_corpus(config_of(folder, "alone").corpus)
    assert corpus.names("train") == ["toy-new"]
    assert corpus.names("test") == ["toy"], "nothing of a single pair is held out"


# Three passes over 1.5 tokens a word, which are half of the 512 in a batch; but at least 900 updates.
@pytest.mark.parametrize(("words", "updates"), [(1_000, 900), (1_000_000, round(3 * 1.5e6 / 256))])
def test_a_fine_tuning_follows_the_size_of_the_new_text(words: int, updates: int, folder: Path) -> None:
    size = CorpusSize(pairs=words // 10, words=words)
    changes = fine_tuning_changes(RunFolder.open(folder / "en-fa"), [size], 0.5, "fine-tune")
    values = {choice.key: choice.value for choice in changes}
    assert values["training.max_steps"] == updates
    assert values["corpus.split.test"] == min(500, size.pairs // 10)
    assert values["batching.temperature"] == 1, "a temperature of the run would change the share of the old text"


def test_word_counts_of_the_parent_run_and_the_new_text_are_added(folder: Path, tmp_path: Path) -> None:
    parent = RunFolder(folder / "en-fa")
    write_pairs(tmp_path / "more.tsv", with_translations(["zzyx ab", "zzyx cd"]))
    config = recipe(
        folder,
        "en-fa",
        f"corpus.sources=[{{name: more, path: '{tmp_path}/more.tsv', use: train}}]",
        "corpus.split={validation: 0, test: 0}",
        f"subword.models_from={parent.path}",
        f"run.directory={tmp_path}/run",
    )
    expected = read_word_counts(parent.subword_folder / "words.tsv")
    for word, count in (("zzyx", 2), ("ab", 1), ("cd", 1)):
        expected[word] = expected.get(word, 0) + count
    assert read_word_counts(DataHandler(config).subword_folder / "words.tsv") == expected
