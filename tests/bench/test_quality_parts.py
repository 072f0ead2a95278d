"""The parts of the contest of quality that all contestants share."""

import contextlib
import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from quality_plans import tiny_plan
from safetensors.torch import save_file

from bench.quality_choice import by_set
from bench.quality_contestant import Trained, alone_in, carry_out, execute, kept
from bench.quality_plan import QualityPlan
from bench.quality_table import Finished, effort_lines, score_lines, write_tables
from bench.quality_text import ContestText, read_lines, write_contest_text
from bench.quality_weights import average_weights, count_weights, load_tensors
from translator.data import DataHandler
from translator.errors import CheckpointError, ConfigError, Interrupted, RunError


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> tuple[QualityPlan, ContestText]:
    folder = tmp_path_factory.mktemp("contest")
    _, plan = tiny_plan(folder)
    return plan, write_contest_text(DataHandler(plan.config()), plan.folder / "text", plan.choice_sentences)


def test_all_text_is_there_once(contest: tuple[QualityPlan, ContestText]) -> None:
    plan, text = contest
    folder = text.folder
    for name in ("train", "validation", "choice", "test"):
        assert len(read_lines(folder / f"{name}.en")) == len(read_lines(folder / f"{name}.fa")) > 0
    assert [len(one.sources) for one in text.sets("validation")] == [20, 20]
    assert [(one.name, len(one.sources)) for one in text.sets("test")] == [("first", 15), ("second", 15)]
    assert sum(len(one.sources) for one in text.sets("choice")) == plan.choice_sentences
    assert {one.name for one in text.sets("choice")} == {"first", "second"}
    assert set(read_lines(folder / "choice.en")) <= set(read_lines(folder / "validation.en"))
    by_source = [line for name in ("first", "second") for line in read_lines(folder / "train" / f"{name}.en")]
    assert by_source == read_lines(folder / "train.en")
    held_out = {
        name: [line for source in ("first", "second") for line in read_lines(folder / name / f"{source}.fa")]
        for name in ("scored", "watched")
    }
    assert sorted(held_out["scored"] + held_out["watched"]) == sorted(read_lines(folder / "validation.fa"))
    assert len(held_out["watched"]) == 8
    seen = {line for part in ("train", "validation") for line in read_lines(folder / f"{part}.fa")}
    assert not seen & set(read_lines(folder / "test.fa"))


def test_translations_are_dealt_out_to_their_sets(contest: tuple[QualityPlan, ContestText], tmp_path: Path) -> None:
    _, text = contest
    sets, file = text.sets("test"), tmp_path / "translations.txt"
    file.write_text("".join(f"{number}\n" for number in range(30)), encoding="utf-8")
    first, second = by_set(file, sets)
    assert first == [str(number) for number in range(15)] and second[0] == "15" and second[-1] == "29"
    file.write_text("one\ntwo\n", encoding="utf-8")
    with pytest.raises(RunError, match="2 lines for 30 sentences"):
        by_set(file, sets)


def one_that_is_finished(plan: QualityPlan, name: str, translations: Sequence[str], weights: int = 1000) -> Finished:
    file = plan.folder / name / "test.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in translations), encoding="utf-8")
    trained = Trained(90.0, 100, 9000, weights, ("last",))
    return Finished(name, {"threads": 1}, trained, {"checkpoint": "last", "length_penalty": 1.0}, file)


def test_the_table_tells_who_is_better_and_how_sure_that_is(contest: tuple[QualityPlan, ContestText]) -> None:
    plan, text = contest
    references = read_lines(text.folder / "test.fa")
    worse = [" ".join(reversed(line.split())) for line in references[:-2]] + ["", " "]
    both = [
        one_that_is_finished(plan, "translator", references),
        one_that_is_finished(plan, "eole", worse, weights=1200),
    ]
    lines = "\n".join(write_tables(plan, text, both))
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines.splitlines() if line.startswith("| first")
    ]
    assert rows[0][:4] == ["first", "15", "translator", "100.00"] and "(" not in "".join(rows[0][3:])
    assert rows[1][2] == "eole" and rows[1][3].endswith("*)") and "†" not in "".join(rows[1])
    assert "1.20 of the first: more than 10% off" in lines
    effort = [line.split("|")[-2].strip() for line in lines.splitlines()[2:4]]
    assert effort == ["0", "2"]  # translations without a word: a toolkit that is not well run gives itself away
    results = json.loads((plan.folder / "results.json").read_text(encoding="utf-8"))
    assert {(one["system"], one["test_set"]) for one in results["scores"]} == {
        (system, name) for system in ("translator", "eole") for name in ("first", "second")
    }
    assert [one["systems"] for one in results["comparisons"]] == [["translator", "eole"]] * 2
    assert "<table" in (plan.folder / "report.html").read_text(encoding="utf-8")
    assert (plan.folder / "results.md").read_text(encoding="utf-8") == lines + "\n"


def test_the_table_tells_where_a_peer_is_better(contest: tuple[QualityPlan, ContestText]) -> None:
    plan, text = contest
    references = read_lines(text.folder / "test.fa")
    worse = [" ".join(reversed(line.split())) for line in references]
    both = [one_that_is_finished(plan, "translator", worse), one_that_is_finished(plan, "eole", references)]
    [row] = [
        line for line in write_tables(plan, text, both) for line in line.splitlines() if "| first | 15 | eole" in line
    ]
    assert row.split("|")[4].strip().endswith("†)") and "*" not in row


def test_one_contestant_alone_has_a_table_too(contest: tuple[QualityPlan, ContestText]) -> None:
    plan, text = contest
    alone = [one_that_is_finished(plan, "translator", read_lines(text.folder / "test.fa"))]
    assert "| first | 15 | translator | 100.00 |" in "\n".join(write_tables(plan, text, alone))
    assert "off" not in effort_lines(plan, alone)[0] and score_lines([], []) != []


def test_the_mean_of_checkpoints(tmp_path: Path) -> None:
    paths = []
    for number in (1.0, 2.0, 6.0):
        paths.append(tmp_path / f"{number}.safetensors")
        shared = torch.full((2, 3), number)
        tensors = {"a": shared, "b": shared.clone(), "bias": torch.zeros(3), "other": torch.zeros(3), "pe": shared + 1}
        save_file({**tensors, "steps": torch.tensor([int(number)])}, paths[-1])
    average_weights(paths, tmp_path / "mean.safetensors")
    found = load_tensors(tmp_path / "mean.safetensors")
    assert torch.equal(found["a"], torch.full((2, 3), 3.0)) and int(found["steps"]) == 6
    # `b` is `a` under another name; vectors that happen to be equal are two.
    assert count_weights(paths[0], left_out=("pe", "steps")) == 6 + 3 + 3
    save_file({"a": torch.zeros(5)}, paths[0])
    with pytest.raises(CheckpointError, match="unlike models"):
        average_weights(paths, tmp_path / "mean.safetensors")
    paths[1].write_bytes(paths[1].read_bytes()[:-4])
    with pytest.raises(CheckpointError, match="no whole tensors"):
        load_tensors(paths[1])


def test_a_finished_part_is_not_made_again(tmp_path: Path) -> None:
    made: list[int] = []

    def make() -> dict[str, int]:
        made.append(1)
        return {"made": len(made)}

    assert kept(tmp_path / "part.json", make) == kept(tmp_path / "part.json", make) == {"made": 1}


def test_a_command_that_fails_or_is_stopped_says_so(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    carry_out(execute, ("sh", "-c", "echo fine; test $THREADS = 3"), log, {"THREADS": "3"})
    with pytest.raises(RunError, match=r"exit code 7; .*log.txt ends with: fine / too bad"):
        carry_out(execute, ("sh", "-c", "echo too bad; exit 7"), log, {})
    for code in (143, -15):
        with pytest.raises(Interrupted):
            carry_out(lambda *_, code=code: code, ("x",), log, {})


def test_a_command_whose_contest_was_killed_keeps_the_next_one_out(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    with alone_in(tmp_path):
        assert execute(("sh", "-c", "sleep 600 & echo $!"), log, {}) == 0
    left = int(log.read_text(encoding="utf-8"))
    try:
        with pytest.raises(RunError, match="still works in"), alone_in(tmp_path):
            pass
    finally:
        os.kill(left, signal.SIGKILL)
    for _ in range(1000):
        with contextlib.suppress(RunError), alone_in(tmp_path):
            return
        time.sleep(0.01)
    raise AssertionError("the hold did not end with the process")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"minutes": 0}, "minutes: Input should be greater than 0"),
        ({"marian": {}}, "marian.ways: Field required"),
        ({"settings": ["model.heads=3"]}, "heads"),
        ({"peers": 1}, "peers: Extra inputs"),
    ],
)
def test_mistakes_are_told_before_the_work_begins(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tiny_plan(tmp_path, **changes)
