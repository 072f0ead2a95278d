"""The runner of the experiments and its table, on the embedded sample."""

import itertools
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import sacrebleu
import yaml
from tiny_runs import run

from bench.experiment_plan import Experiments, load_experiments, trials
from bench.experiment_table import Outcome, compare, experiment_table, row
from bench.experiments import StepCount, commands, in_process, is_finished, run_all
from translator.config import load_config
from translator.errors import ConfigError, Interrupted

ROOT = Path(__file__).parents[2]
TOKENS = 3000

PLAN = """
directory: "{folder}/runs"
tokens: {tokens}
seeds: [1, 2]
recipe:
  run: {{device: cpu, threads: 1}}
  corpus:
    sources:
      - {{name: sample, path: "{sample}/train.tsv", max_pairs: 300, use: train}}
      - {{name: sample, path: "{sample}/validation.tsv", max_pairs: 20, use: validation}}
      - {{name: sample, path: "{sample}/test.tsv", max_pairs: 25, use: test}}
      - {{name: other, path: "{sample}/validation.tsv", max_pairs: 10, use: test}}
    prepared_directory: "{folder}/prepared"
    workers: 1
  subword: {{model_type: char, vocabulary_size: 100}}
  batching: {{tokens_per_batch: 800, max_length: 120}}
  model:
    {{d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 16, max_positions: 200}}
  training: {{processes: 1, warmup_steps: 2, validate_every: 1000000, validation_sentences: 2, checkpoint_every: 2}}
  search: {{method: greedy, max_length_ratio: 0.2}}
  evaluation: {{metrics: [bleu, chrf]}}
variants:
  - {{name: plain, about: nothing changed}}
  - {{name: smooth, about: much smoothing, settings: [training.label_smoothing=0.5]}}
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "experiments.yaml"
    path.write_text(PLAN.format(folder=tmp_path, sample=ROOT / "data" / "sample", tokens=TOKENS), encoding="utf-8")
    return path


def train(command: Sequence[str]) -> int:
    """Do what `translator train` does, in this process."""
    assert command[2:4] == ("translator", "train")
    settings = [setting for flag, setting in itertools.pairwise(command) if flag == "--set"]
    run(load_config(command[command.index("--config") + 1], settings))
    return 0


def never(command: Sequence[str]) -> int:
    raise AssertionError(f"this was finished: {command}")


def test_all_variants_are_trained_with_one_seed_and_come_into_the_table(plan: Path) -> None:
    experiments = load_experiments(plan)
    planned = list(trials(experiments))
    assert [(trial.variant.name, trial.seed) for trial in planned] == [
        (name, seed) for seed in (1, 2) for name in ("plain", "smooth")
    ]
    assert experiment_table(experiments, planned) == ["No experiment is finished yet."]
    first = planned[:2]
    count = StepCount(TOKENS)
    assert run_all(experiments, first, lambda trial: count(trial.config), train) == 0
    assert run_all(experiments, first, lambda trial: count(trial.config), never) == 0

    lines = experiment_table(experiments, planned)
    header, _, plain, smooth = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines[0].splitlines())
    named = dict(zip(header, plain, strict=True))
    assert named["variant"] == "nothing changed" and named["seeds"] == "1" and named["BLEU − baseline (p)"] == "–"
    assert float(named["target tokens"].replace(",", "")) == pytest.approx(TOKENS, rel=0.2)
    named = dict(zip(header, smooth, strict=True))
    assert named["variant"] == "much smoothing"
    assert float(named["validation loss"]) > 0
    assert "(" in named["chrF − baseline (p)"] and "±" in named["chrF, 95%"]
    assert any("35 test sentences, greedy" in line for line in lines)

    # The same folders under another plan: what they hold is no answer to it.
    more = load_experiments(_changed(plan, tokens=2 * TOKENS))
    assert all(trial.scored_checkpoint() for trial in first)
    assert not is_finished(next(trials(more)), steps=1000)
    recipe = experiments.recipe | {"search": {"method": "greedy", "max_length_ratio": 0.3}}
    other = load_experiments(_changed(plan, recipe=recipe))
    assert experiment_table(other, list(trials(other))) == ["No experiment is finished yet."]


def _changed(plan: Path, **changes: object) -> Path:
    path = plan.with_name("changed.yaml")
    path.write_text(yaml.safe_dump(yaml.safe_load(plan.read_text(encoding="utf-8")) | changes), encoding="utf-8")
    return path


class Ended:
    """Commands that all end with one exit code."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.begun = 0

    def __call__(self, command: Sequence[str]) -> int:
        self.begun += 1
        return self.code


@pytest.mark.parametrize(("code", "signal_number"), [(143, 15), (130, 2), (-15, 15)])
def test_a_stop_ends_the_work(plan: Path, code: int, signal_number: int) -> None:
    experiments, execute = load_experiments(plan), Ended(code)
    with pytest.raises(Interrupted) as stop:
        run_all(experiments, list(trials(experiments)), lambda trial: 3, execute)
    assert stop.value.signal_number == signal_number and execute.begun == 1


def test_after_a_failure_the_others_go_on(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    experiments, execute = load_experiments(plan), Ended(2)
    assert run_all(experiments, list(trials(experiments)), lambda trial: 3, execute) == 1
    assert execute.begun == 4
    said = capsys.readouterr().err
    assert (
        "4 failed: plain-seed1, smooth-seed1, plain-seed2, smooth-seed2" in said and "failed with exit code 2" in said
    )


def test_a_command_runs_on_one_thread_and_stop_signals_are_handed_on() -> None:
    thread = "import os, sys; sys.exit(int(os.environ['OMP_NUM_THREADS']) + 6)"
    assert in_process((sys.executable, "-c", thread)) == 7
    waits = (
        "import os, signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(143));"
        "os.kill(os.getppid(), signal.SIGTERM); time.sleep(600)"
    )
    before = signal.getsignal(signal.SIGTERM)
    assert in_process((sys.executable, "-c", waits)) == 143
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_experiments_of_the_house_are_whole() -> None:
    experiments = load_experiments(ROOT / "bench" / "experiments.yaml")
    planned = list(trials(experiments))
    assert len(experiments.seeds) >= 2 and planned[0].variant.settings == ()
    seeds = [trial.seed for trial in planned]
    assert seeds == sorted(seeds, key=experiments.seeds.index)
    trained = [trial for trial in planned if trial.variant.average is None]
    assert len({trial.config.run.directory for trial in trained}) == len(trained)
    assert all(trial.config != planned[0].config for trial in trained[1:])
    [average] = [trial for trial in planned if trial.variant.average and trial.seed == experiments.seeds[0]]
    assert average.config.training.keep_checkpoints >= (average.variant.average or 0)
    averaging, scoring = commands(average, Path("recipe.yaml"), 1)
    assert averaging[3:] == ("average", "--run", planned[0].config.run.directory, "--count", "5", "--of", "last")
    assert scoring[3:] == ("evaluate", "--run", planned[0].config.run.directory, "--checkpoint", "averaged")


REFERENCES = [f"the {animal} sat on the {place}" for animal in ("cat", "dog", "hen", "ox") for place in "abcdefghij"]
GOOD = [text.replace("sat", "sits") if number % 3 else text for number, text in enumerate(REFERENCES)]
BAD = [text.replace("the", "a", 1).replace("on", "at") if number % 4 else text for number, text in enumerate(GOOD)]


def outcome(experiments: Experiments, hypotheses: list[str], seed: int = 1) -> Outcome:
    return Outcome(experiments.variants[0], seed, REFERENCES, hypotheses, None)


def test_scores_are_of_the_translations_of_all_seeds_together(plan: Path) -> None:
    experiments = load_experiments(plan)
    both = compare([outcome(experiments, GOOD), outcome(experiments, BAD, seed=2)], [])
    for metric, name in ((sacrebleu.BLEU(), "BLEU"), (sacrebleu.CHRF(), "chrF2")):
        expected = metric.corpus_score(GOOD + BAD, [REFERENCES * 2]).score
        assert both.results[name].score == pytest.approx(expected)
    assert both.differences == {}


def test_a_seed_that_says_the_same_again_makes_no_interval_narrower(plan: Path) -> None:
    experiments = load_experiments(plan)
    once = compare([outcome(experiments, BAD)], [])
    twice = compare([outcome(experiments, BAD), outcome(experiments, BAD, seed=2)], [])
    assert once.results["BLEU"].ci is not None and once.results["BLEU"].ci > 1
    for name, result in once.results.items():
        assert twice.results[name].score == pytest.approx(result.score)
        assert twice.results[name].ci == pytest.approx(result.ci, rel=1e-3)


def test_a_variant_is_compared_over_the_seeds_that_both_have(plan: Path) -> None:
    experiments = load_experiments(plan)
    baseline = [outcome(experiments, BAD), outcome(experiments, GOOD, seed=2)]
    compared = compare([outcome(experiments, GOOD), outcome(experiments, BAD, seed=3)], baseline)
    expected = sacrebleu.corpus_bleu(GOOD, [REFERENCES]).score - sacrebleu.corpus_bleu(BAD, [REFERENCES]).score
    assert compared.differences["BLEU"] == pytest.approx(expected)
    assert compared.results["BLEU"].p_value is not None and compared.results["BLEU"].p_value < 0.05
    same = [outcome(experiments, GOOD, seed=2)]
    assert compare(same, baseline).differences == {"BLEU": 0, "chrF2": 0}
    assert "+0.00 (1.000)" in row(same, compare(same, baseline))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": 0}, "tokens: Input should be greater than or equal to 1"),
        ({"variants": [{"name": "a", "about": ""}, {"name": "a", "about": ""}]}, "two variants have one name"),
        ({"variants": [{"name": "a", "about": "", "average": 3}]}, "the first variant is the baseline"),
        ({"seeds": []}, "seeds: Tuple should have at least 1 item"),
    ],
)
def test_mistakes_are_told_before_the_work_begins(plan: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_experiments(_changed(plan, **changes))


def test_a_wrong_setting_is_told_with_its_variant(plan: Path) -> None:
    variant = {"name": "b", "about": "", "settings": ["training.learning_rat=1"]}
    experiments = load_experiments(_changed(plan, variants=[{"name": "a", "about": ""}, variant]))
    with pytest.raises(ConfigError, match=r"variant `b` has 1 mistake(.|\n)*learning_rat"):
        list(trials(experiments))
