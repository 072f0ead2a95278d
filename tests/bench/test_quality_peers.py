"""The peers in the contest of quality: what they are asked to do, and Marian's own loop."""

import importlib
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from quality_plans import ROOT, tiny_plan
from safetensors.torch import save_file

from bench import quality_marian_process
from bench.marian import build_marian, marian_is_here
from bench.quality_contestant import Trained
from bench.quality_eole import PYTHON, Eole, vocabulary_text
from bench.quality_eole_process import scheduled_step
from bench.quality_marian import Marian
from bench.quality_marian_process import timed_rate
from bench.quality_plan import QualityPlan, load_plan
from bench.quality_text import ContestText, read_lines, write_contest_text
from bench.quality_weights import load_tensors
from translator.config import TrainingConfig
from translator.data import DataHandler
from translator.errors import RunError
from translator.model import Transformer

WITHOUT_MARIAN = pytest.mark.skipif(
    not marian_is_here(), reason="transformers is not installed: pip install '.[bench]'"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[QualityPlan, ContestText]:
    folder = tmp_path_factory.mktemp("contest")
    _, plan = tiny_plan(folder)
    return plan, write_contest_text(DataHandler(plan.config()), plan.folder / "text", plan.choice_sentences)


class FakeEole:
    """Does what eole's command would leave on the disk."""

    def __init__(self, steps: Sequence[int]) -> None:
        self.steps = steps
        self.commands: list[Sequence[str]] = []
        self.recipe: dict[str, dict[str, Any]] = {}

    def __call__(self, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
        self.commands.append(command)
        assert environment["OMP_NUM_THREADS"] == "1"
        if command[3] == "train":
            self.recipe = yaml.safe_load(Path(command[5]).read_text(encoding="utf-8"))
            model = Path(str(self.recipe["training"]["model_path"]))
            for step in self.steps:
                (model / f"step_{step}").mkdir(parents=True)
                save_file({"w": torch.full((2, 2), float(step))}, model / f"step_{step}" / "model.00.safetensors")
            result = Path(json.loads(command[2])["result"])
            result.write_text(json.dumps(Trained(9.0, 50, 700).to_json()), encoding="utf-8")
        return 0


def test_eole_is_given_the_same_text_subwords_and_minutes(
    made: tuple[QualityPlan, ContestText], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, text = made
    monkeypatch.setenv(PYTHON, "/their/python")
    fake = FakeEole(steps=[5, 10, 15])
    eole = Eole(plan, text, fake)
    way = {"matmul": "medium", "precision": "fp32"}
    (eole.folder / "training" / "left").mkdir(parents=True)
    trained = eole.train(way, Trained(1.0, 100, 1000))
    assert not (eole.folder / "training" / "left").exists()
    assert fake.commands[0][0] == "/their/python" and fake.commands[0][3:5] == ["train", "-config"]
    job = json.loads(fake.commands[0][2])
    assert job["seconds"] == pytest.approx(60 * plan.minutes) and job["matmul"] == "medium" and job["warm_up"] == 0
    recipe = fake.recipe
    assert job["steps"] == recipe["training"]["train_steps"] == 180  # half as many again as the trial promises
    assert recipe["training"]["save_checkpoint_steps"] == 18 and recipe["training"]["valid_steps"] == 36
    theirs_at = [Path(path) for path in recipe["data"]["train"].values()]
    ours, theirs = (
        list(zip(*map(read_lines, paths), strict=True))
        for paths in ([text.folder / f"train.{side}" for side in ("en", "fa")], theirs_at)
    )
    assert theirs != ours and sorted(theirs) == sorted(ours)
    assert len(ours) // 2 < recipe["training"]["bucket_size"] < len(ours)
    assert recipe["training"]["batch_size"] == 64 and recipe["model"] == {"layers": 1}
    assert recipe["training"]["valid_batch_size"] == plan.config().batching.tokens_per_batch
    assert recipe["data"]["valid"] == {
        "path_src": str(text.input("validation").resolve()),
        "path_tgt": str((text.folder / "validation.fa").resolve()),
    }
    # The mean of the last two, which the plan asks for, and the checkpoints, the newest first.
    assert trained.candidates == ("averaged", "step_15", "step_10", "step_5")
    model = eole.folder / "training" / "model"
    assert torch.equal(load_tensors(model / "averaged" / "model.00.safetensors")["w"], torch.full((2, 2), 12.5))
    assert (trained.seconds, trained.steps, trained.target_tokens, trained.weights) == (9.0, 50, 700, 4)

    eole.translate("averaged", 0.6, "choice", plan.folder / "out.txt")
    told = dict(zip(fake.commands[1][4::2], fake.commands[1][5::2], strict=True))
    assert fake.commands[1][2:4] == ["translate", "predict"]
    assert told["-alpha"] == "0.6" and told["-beam_size"] == "2" and told["-model_path"].endswith("model/averaged")
    assert told["-src"] == str(text.input("choice").resolve()) and told["-compute_dtype"] == "fp32"


def test_eole_warms_up_in_proportion_to_its_steps(tmp_path: Path) -> None:
    training = {"warmup_steps": 10, "batch_size": 96}
    eole_arm = {"ways": [{"matmul": "medium", "precision": "fp32"}], "length_penalties": [1.0],
                "config": {"training": training}}  # fmt: skip
    _, plan = tiny_plan(tmp_path, eole=eole_arm)
    text = write_contest_text(DataHandler(plan.config()), plan.folder / "text", plan.choice_sentences)
    fake = FakeEole(steps=[5])
    Eole(plan, text, fake).train(plan.eole.ways[0], Trained(1.0, 100, 1000))
    assert plan.config().training.max_steps == 20
    assert (fake.recipe["training"]["train_steps"], fake.recipe["training"]["warmup_steps"]) == (180, 90)
    assert fake.recipe["training"]["batch_size"] == 96


def test_eoles_schedule_goes_by_the_time() -> None:
    assert [scheduled_step(share, 180) for share in (0.0, 0.5, 1.0, 1.1)] == [1, 90, 180, 180]


def test_a_checkpoint_that_was_cut_off_is_not_chosen(
    made: tuple[QualityPlan, ContestText], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, text = made
    monkeypatch.delenv(PYTHON, raising=False)
    eole = Eole(plan, text, fake := FakeEole(steps=[5, 10]))
    whole = fake.__call__

    def cut_off(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
        code = whole(command, log, environment)
        file = eole.folder / "training" / "model" / "step_10" / "model.00.safetensors"
        file.write_bytes(file.read_bytes()[:-3])
        return code

    eole.run = cut_off
    assert eole.train({"matmul": "highest", "precision": "fp32"}, Trained(1.0, 9, 9)).candidates == (
        "averaged",
        "step_5",
    )
    assert fake.commands[0][0] == sys.executable
    eole.run = FakeEole(steps=[])
    with pytest.raises(RunError, match="no checkpoint"):
        eole.train({"matmul": "highest", "precision": "fp32"}, Trained(1.0, 9, 9))


def test_eoles_vocabulary_has_every_piece_but_the_special_ones(made: tuple[QualityPlan, ContestText]) -> None:
    plan, _ = made
    model = DataHandler(plan.config()).subword.target
    rows = [line.split("\t") for line in vocabulary_text(model).splitlines()]
    assert len(rows) == model.vocabulary_size - 4 == len({piece for piece, _ in rows})
    counts = [int(count) for _, count in rows]
    assert counts == sorted(counts, reverse=True) and counts[-1] == 1
    line = read_lines(plan.folder / "text" / "train.fa")[0]
    assert set(model.pieces_of(model.encode([line])[0])) <= {piece for piece, _ in rows}


def test_marians_schedule_ends_with_its_time() -> None:
    settings = TrainingConfig(learning_rate=1.0, warmup_steps=10, schedule="cosine", max_steps=100)
    assert timed_rate(5, 0.05, settings) == timed_rate(500, 0.05, settings) == 0.5
    assert timed_rate(1, 0.0, settings) == 0.1 and timed_rate(11, 0.1, settings) == 1.0
    assert timed_rate(9000, 1.0, settings) == pytest.approx(0.01)
    assert timed_rate(40, 0.5, settings) > timed_rate(40, 0.6, settings)
    constant = settings.model_copy(update={"schedule": "inverse_sqrt"})
    assert timed_rate(40, 0.9, constant) == 0.5


@WITHOUT_MARIAN
def test_the_contestants_of_the_house_are_of_a_size() -> None:
    plan = load_plan(ROOT / "bench" / "quality.yaml")
    config = plan.config()
    assert plan.minutes == config.training.max_minutes
    assert [source.name for source in config.corpus.sources] == ["mizan", "tatoeba", "afec", "docs"]
    assert all(way["processes"] * way["threads"] == plan.cores for way in (*plan.translator.ways, *plan.marian.ways))
    size = config.subword.vocabulary_size
    ours = sum(one.numel() for one in Transformer(config.model, size, size).parameters())
    marian = build_marian(plan.config(plan.marian.settings).model, size, size, **plan.marian.model)
    theirs = sum(one.numel() for name, one in marian.named_parameters() if "embed_positions" not in name)
    assert theirs / ours == pytest.approx(1, abs=plan.size_tolerance)


@WITHOUT_MARIAN
def test_marian_trains_until_its_time_is_over_and_translates(made: tuple[QualityPlan, ContestText]) -> None:
    plan, text = made

    def here(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
        assert command[1:3] == ["-m", "bench.quality_marian_process"]
        return quality_marian_process.main(list(command[3:]))

    precision, threads = torch.get_float32_matmul_precision(), torch.get_num_threads()
    marian = Marian(plan, text, here)
    try:
        trained = marian.train(marian.ways[0], Trained(1.0, 1, 1))
    finally:
        torch.set_float32_matmul_precision(precision)
        torch.set_num_threads(threads)
    assert trained.seconds >= 60 * plan.minutes and 1 <= trained.steps < trained.target_tokens
    assert {"last", "averaged"} <= set(trained.candidates)
    folder = marian.folder / "training"
    assert len(list(folder.glob("step-*"))) <= 3
    saved = importlib.import_module("transformers").MarianMTModel.from_pretrained(folder / "last")
    trainable = (one.numel() for name, one in saved.named_parameters() if "embed_positions" not in name)
    assert trained.weights == sum(trainable)
    output = plan.folder / "marian.txt"
    marian.translate("averaged", 1.0, "choice", output)
    assert len(read_lines(output)) == plan.choice_sentences
    shutil.rmtree(folder)
