"""`translator compare` says whether one system is better than another on the same sentences, and where they differ."""

import csv
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from tests.fence.files import read_json, scores_of, write_lines
from tests.fence.small_language import ADJECTIVES, NOUNS, seen
from tests.support.command_line import Finished, succeed
from tests.support.few_draws import RESAMPLES, TRIALS

PAIRS = [seen(noun, adjective) for noun in ("book", "car", "tree") for adjective in list(ADJECTIVES)[:8]]
RIGHT = [persian for _, persian in PAIRS]
BASE = [text.replace(NOUNS["car"], "خودرو").replace(NOUNS["tree"], "گیاه") for text in RIGHT]
BETTER = [BASE[0].replace(NOUNS["book"], "دفتر"), *RIGHT[1:]]  # worse in one sentence, better in 16 of 24
SPACED = [text.replace("\u200c", " ") for text in BETTER]
SYSTEMS = {"base": BASE, "better": BETTER, "spaced": SPACED}


@dataclass(frozen=True)
class Compared:
    """Four text files of translations, compared on one source and reference."""

    folder: Path
    result: Finished
    values: dict[str, Any]  # of --json

    def test(self, metric: str, method: str, normalization: str = "raw") -> list[dict[str, Any]]:
        """What one significance test says of each system."""
        for test in self.values["tests"]:
            if (test["metric"], test["method"]) == (metric, method) and normalization in test["normalization"]:
                systems: list[dict[str, Any]] = test["systems"]
                return systems
        raise AssertionError(f"no test of {metric} by {method} on {normalization}")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    folder = tmp_path_factory.mktemp("compared")
    write_lines(folder / "source.en", [english for english, _ in PAIRS])
    write_lines(folder / "reference.fa", RIGHT)
    systems = [write_lines(folder / f"{name}.txt", lines) for name, lines in [*SYSTEMS.items(), ("copy", BASE)]]
    options = ("--text", "raw", "folded", "--metrics", "bleu", "chrf", "--json", folder / "compared.json")
    result = succeed("compare", *systems, *texts_in(folder), *options)
    (values,) = read_json(folder / "compared.json")
    return Compared(folder=folder, result=result, values=values)


def texts_in(folder: Path) -> tuple[str | Path, ...]:
    """Return the options for the source and the reference in a folder."""
    return ("--source", folder / "source.en", "--reference", folder / "reference.fa")


# --- the numbers ---


@pytest.mark.parametrize(("name", "metric"), [("bleu", BLEU()), ("chrf", CHRF())])
@pytest.mark.parametrize(("method", "kind", "draws"), [("bootstrap", "bs", RESAMPLES), ("randomisation", "ar", TRIALS)])
def test_scores_and_p_values_are_those_of_sacrebleu(
    name: str, metric: BLEU | CHRF, method: str, kind: str, draws: int, compared: Compared
) -> None:
    named: list[tuple[str, Sequence[str]]] = [*SYSTEMS.items()]
    _, columns = PairedTest(named, {name: metric}, [RIGHT], test_type=kind, n_samples=draws)()
    (expected,) = [column for title, column in columns.items() if title != "System"]
    *systems, _ = compared.test(name, method)
    baseline = systems[0]["score"]
    for system, result in zip(systems, expected, strict=True):
        assert not isinstance(result, str)
        assert system["score"] == pytest.approx(result.score)
        assert system["p_value"] == (None if result.p_value is None else pytest.approx(result.p_value))
        assert system["difference"] == pytest.approx(result.score - baseline)


def test_a_gain_that_comes_from_half_spaces_goes_with_folded_text(compared: Compared) -> None:
    _, better, spaced, _ = compared.test("bleu", "bootstrap")
    assert spaced["score"] < better["score"] - 5
    _, better, spaced, _ = compared.test("bleu", "bootstrap", "ZWNJ as space")
    assert spaced["score"] == better["score"]


def test_better_and_worse_sentences_are_counted_and_shown(compared: Compared) -> None:
    better, *_ = compared.values["by_sentence"]
    assert (better["wins"], better["losses"], better["ties"]) == (16, 1, 7)
    (worse,) = better["worse"]
    assert (worse["sentence"], worse["source"], worse["references"]) == (1, PAIRS[0][0], [RIGHT[0]])
    assert (worse["baseline"], worse["system"]) == (BASE[0], BETTER[0])
    assert "better.txt against base.txt by sentence (chrF, raw): 16 better, 1 worse, 7 alike" in compared.result.out
    assert BETTER[0] in compared.result.out


def test_equal_systems_have_no_difference_and_p_1(compared: Compared) -> None:
    for test in compared.values["tests"]:
        assert (test["systems"][3]["difference"], test["systems"][3]["p_value"]) == (0, 1)


def test_a_line_without_a_reference_is_left_out_of_every_system(compared: Compared, tmp_path: Path) -> None:
    reference = write_lines(tmp_path / "reference.fa", [*RIGHT[:2], "", *RIGHT[3:]])
    only_scored = write_lines(tmp_path / "scored.txt", [*BETTER[:2], *BETTER[3:]])
    texts = ("--source", compared.folder / "source.en", "--reference", reference)
    options = ("--metrics", "bleu", "--json", tmp_path / "compared.json")
    result = succeed("compare", compared.folder / "better.txt", only_scored, *texts, *options)
    assert "1 of 24 left out (line 3)" in result.out
    (values,) = read_json(tmp_path / "compared.json")
    assert (values["sentences"], values["left_out"]) == (23, [3])
    assert values["tests"][0]["systems"][1]["difference"] == 0


# --- runs ---


@pytest.fixture(scope="module")
def other_run(small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the small run, evaluated with greedy search in place of a beam."""
    copy = tmp_path_factory.mktemp("runs") / "other"
    shutil.copytree(small_run, copy, symlinks=True, ignore=shutil.ignore_patterns("evaluation"))
    succeed("evaluate", "--run", copy, "--search", "greedy", "--no-report")
    return copy


def test_runs_are_compared_by_their_evaluations_and_with_a_text_file(
    small_run: Path, other_run: Path, tmp_path: Path
) -> None:
    perfect = shutil.copy(small_run / "evaluation" / "small" / "reference.txt", tmp_path / "perfect.txt")
    result = succeed("compare", small_run, other_run, perfect, "--metrics", "chrf", "--format", "csv")
    assert "small: 30 sentences; differences and p-values against small" in result.out
    scores = {row[1]: row[2] for row in csv.reader(result.lines) if row[:1] == ["chrf"]}
    assert scores == {
        "small": raw_chrf(small_run)["beam-4"],
        "other": raw_chrf(other_run)["greedy"],
        "perfect.txt": "100.00",
    }


def test_two_searches_of_a_run_are_compared_by_the_files_of_their_translations(other_run: Path) -> None:
    succeed("evaluate", "--run", other_run, "--search", "beam", "--beam", "2", "--no-report")
    files = sorted((other_run / "evaluation" / "small").glob("step-*.txt"))
    result = succeed("compare", *files, "--metrics", "chrf", "--format", "csv")
    rows = [row[:3] for row in csv.reader(result.lines) if row[:1] == ["chrf"]]
    scores = raw_chrf(other_run)
    assert rows == [["chrf", file.name, scores[file.name.split(".")[1]]] for file in files]


def raw_chrf(run: Path) -> dict[str, str]:
    """Return chrF of the raw translations of a run, as it is printed, by search."""
    entries = scores_of(run / "evaluation", metric="chrf", normalization="raw")
    return {entry["search"]: f"{entry['score']:.2f}" for entry in entries}
