"""The verb fine-tune: what a run on new text takes over, what it replays, what it reuses, and what it refuses."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.derived_runs import SHORT, config_of, recipe, with_translations
from tests.support.toy_corpora import write_pairs
from tests.support.untrained import untrained_run
from translator.cli import main
from translator.config import Config, load_config
from translator.corpus.derived import corpus_of_run
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.data import DataHandler
from translator.recipes.corpus_recipe import CorpusSize
from translator.recipes.fine_tuning import fine_tuning_changes
from translator.run.folder import RunFolder
from translator.run.signals import StopRequest
from translator.subword import SubwordPair

pytestmark = pytest.mark.usefixtures("little_effort")
DROPOUTS = ("dropout", "attention_dropout", "feed_forward_dropout")


def fine_tune(folder: Path, *flags: str, run: str = "en-fa", corpus: str = "new.tsv", output: str = "tuned") -> int:
    places = ["--run", str(folder / run), "--corpus", str(folder / corpus), "--output", str(folder / output)]
    return main(["fine-tune", *places, *flags, "--set", *SHORT])


class FineTuning(NamedTuple):
    """A finished fine-tuning of the run `en-fa` in `folder`."""

    folder: Path
    parent: Config
    config: Config

    def corpora(self) -> tuple[PreparedCorpus, PreparedCorpus]:
        """Return the prepared text of the parent and of the new run."""
        return corpus_of_run(self.parent), corpus_of_run(self.config)


@pytest.fixture(scope="module")
def tuned(folder: Path, little_effort: None) -> FineTuning:
    assert fine_tune(folder) == 0
    return FineTuning(folder=folder, parent=config_of(folder, "en-fa"), config=config_of(folder, "tuned"))


def test_fine_tuning_keeps_the_subword_models(tuned: FineTuning) -> None:
    before = SubwordPair.load(RunFolder(tuned.folder / "en-fa").subword_folder)
    after = SubwordPair.load(RunFolder(tuned.folder / "tuned").subword_folder)
    assert after.sha256 == before.sha256


def test_fine_tuning_takes_training_settings_from_its_recipe(tuned: FineTuning) -> None:
    shipped = load_config("fine-tune").training.best_metric
    assert tuned.parent.training.best_metric != shipped
    assert tuned.config.training.best_metric == shipped


def test_fine_tuning_turns_dropout_off_in_the_same_model(tuned: FineTuning) -> None:
    for name in DROPOUTS:
        assert getattr(tuned.parent.model, name) > 0
    without_dropout = tuned.parent.model.model_copy(update=dict.fromkeys(DROPOUTS, 0.0))
    assert tuned.config.model == without_dropout


@pytest.mark.parametrize("split", ["test", "train"])
def test_fine_tuning_keeps_the_split_of_the_old_text(split: str, tuned: FineTuning) -> None:
    before, after = tuned.corpora()
    assert list(after.pairs(split, "toy")) == list(before.pairs(split, "toy"))  # type: ignore[arg-type]


def test_old_and_new_text_are_equal_parts_of_the_validation_text(tuned: FineTuning) -> None:
    _, corpus = tuned.corpora()
    assert corpus.count("validation", "toy") == 3
    assert corpus.count("validation", "new") == 3


def mixture_shares(config: Config) -> dict[str, float]:
    """Return the share of each source in the pairs of an epoch."""
    rows = DataHandler(config).mixture
    total = sum(row.drawn for row in rows)
    return {row.name: row.drawn / total for row in rows}


@pytest.fixture
def without_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the comparison of both runs, which the tests above see."""
    monkeypatch.setattr("translator.cli.deriving.compare_runs", lambda *_: None)


@pytest.fixture
def without_training(monkeypatch: pytest.MonkeyPatch, without_comparison: None) -> None:
    """Write a run with random weights where the verb trains one."""

    def write_run(recipe: str, overrides: Sequence[str], stop: StopRequest) -> None:
        untrained_run(load_config(recipe, overrides))

    monkeypatch.setattr("translator.cli.deriving.train_recipe", write_run)


@pytest.mark.usefixtures("without_comparison")
def test_fine_tuning_again_reuses_its_recipe_and_its_run(tuned: FineTuning, capsys: pytest.CaptureFixture[str]) -> None:
    assert fine_tune(tuned.folder) == 0
    printed = capsys.readouterr().out
    assert "exists and is reused" in printed
    assert "is finished" in printed


@pytest.fixture
def few_replayed_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy as many old pairs as there are new ones: 60 from `new.tsv`, 64 from `third.tsv`."""
    monkeypatch.setattr("translator.recipes.fine_tuning._REPLAYED_PAIRS", 1)


@pytest.mark.usefixtures("few_replayed_pairs", "without_training")
def test_replayed_text_samples_each_source_by_its_weight(folder: Path) -> None:
    # 1. The first fine-tuning replays 60 of 130 pairs, evenly spaced.
    assert fine_tune(folder, output="sample") == 0
    old_pairs = list(corpus_of_run(config_of(folder, "en-fa")).pairs("train", "toy"))
    replayed_pairs = list(corpus_of_run(config_of(folder, "sample")).pairs("train", "toy"))
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
    corpus = corpus_of_run(config)
    assert corpus.count("train", "new") == 13
    assert corpus.count("train", "toy") == 51
    shares = mixture_shares(config)
    assert shares["new"] == pytest.approx(0.8 * 0.2, abs=0.02)
    assert shares["toy"] == pytest.approx(0.8 * 0.8, abs=0.02)


@pytest.mark.usefixtures("without_training")
def test_fine_tuning_without_replay_renames_a_corpus_whose_name_is_taken(folder: Path) -> None:
    (folder / "a").mkdir()
    (folder / "a" / "toy.tsv").write_bytes((folder / "new.tsv").read_bytes())
    assert fine_tune(folder, "--replay", "0", corpus="a/toy.tsv", output="alone") == 0
    corpus = corpus_of_run(config_of(folder, "alone"))
    assert corpus.names("train") == ["toy-new"]
    assert corpus.names("test") == ["toy-new", "toy"]


def test_a_single_new_pair_is_enough(folder: Path) -> None:
    write_pairs(folder / "single.tsv", with_translations(["abc"]))
    assert fine_tune(folder, corpus="single.tsv", output="single") == 0, "nothing of it is held out"


# Three passes over 1.5 tokens a word, which are half of the 512 in a batch; but at least 900 updates.
@pytest.mark.parametrize(("words", "updates"), [(1_000, 900), (1_000_000, round(3 * 1.5e6 / 256))])
def test_a_fine_tuning_follows_the_size_of_the_new_text(words: int, updates: int, folder: Path) -> None:
    size = CorpusSize(pairs=words // 10, words=words)
    changes = fine_tuning_changes(RunFolder.open(folder / "en-fa"), [size], 0.5, "fine-tune")
    values = {choice.key: choice.value for choice in changes}
    assert values["training.max_steps"] == updates
    assert values["corpus.split.test"] == min(500, size.pairs // 10)


def test_a_recipe_of_a_fine_tuning_says_why_it_changes_a_setting_unless_the_user_did(tuned: FineTuning) -> None:
    lines = (tuned.folder / "tuned.yaml").read_text(encoding="utf-8").splitlines()
    assert any(line.startswith("  learning_rate: ") and line.endswith("# a third of the run's") for line in lines)
    assert "  max_steps: 2" in lines


def word_counts(file: Path) -> dict[str, int]:
    counts = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        word, count = line.split("\t")
        counts[word] = int(count)
    return counts


def test_word_counts_of_the_parent_run_and_the_new_text_are_added(folder: Path, tmp_path: Path) -> None:
    parent = RunFolder(folder / "en-fa")
    write_pairs(tmp_path / "more.tsv", with_translations(["zzyx ab", "zzyx cd"]))
    config = recipe(
        folder,
        "en-fa",
        f"corpus.sources=[{{name: more, path: '{tmp_path}/more.tsv', use: train}}]",
        "corpus.split.validation=0",
        "corpus.split.test=0",
        f"subword.models_from={parent.path}",
        f"run.directory={tmp_path}/run",
    )
    expected = word_counts(parent.subword_folder / "words.tsv")
    for word, count in (("zzyx", 2), ("ab", 1), ("cd", 1)):
        expected[word] = expected.get(word, 0) + count
    assert word_counts(DataHandler(config).subword_folder / "words.tsv") == expected


def test_a_recipe_of_the_user_beside_the_new_run_is_not_replaced(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "mine.yaml"
    file.write_text("run: {directory: runs/mine}\n", encoding="utf-8")
    assert fine_tune(folder, output="mine") == 2
    assert "mine.yaml exists and is another recipe than this command makes" in capsys.readouterr().err
    assert file.read_text(encoding="utf-8") == "run: {directory: runs/mine}\n"
