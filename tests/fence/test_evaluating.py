"""`translator evaluate` translates test sets, scores the translations as sacreBLEU does, and writes everything down."""

import html
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from tests.fence.files import contents, read_lines, scores_of, write_lines
from tests.fence.small_language import counted, question, seen, statement
from tests.support.command_line import Finished, succeed
from tests.support.few_draws import RESAMPLES

BOOK, CAR, TREE = statement("book", "new"), question("car", "big"), seen("tree", "white")
BOOKS = counted("book", 12, "at home")
MINE = [
    (BOOK[0], BOOK[1], ""),
    (CAR[0], "آیا این ماشین است؟", CAR[1]),  # only the second reference is what the model says
    (TREE[0], "", " "),
    (BOOKS[0], "در خانه دوازده کتاب داریم.", ""),
    (TREE[0], TREE[1], ""),
]
"""English lines with their two references; line 3 has none, and only line 2 has a second one."""
ARABIC_LETTERS = [(BOOK[0], "كتاب تازه است."), (TREE[0], TREE[1].replace("ی", "ي"))]
SPACES = [(BOOK[0], BOOK[1]), (TREE[0], TREE[1].replace("\u200c", " "))]
NOISES = {"capitals", "title-case", "lower-case", "no-final-punctuation", "typos", "quotes-and-spaces"}
FIELDS = ["test_set", "metric", "score", "signature", "normalization", "search", "checkpoint", "sentences", "left_out"]


@dataclass(frozen=True)
class Evaluated:
    """A run that was evaluated on its own test text, then on the sets `mine`, `letters` and `spaces`."""

    run: Path
    named: Finished
    own_files: dict[str, bytes]  # after the first evaluation, by path in the evaluation folder
    scores: list[dict[str, Any]]  # scores.json

    @property
    def folder(self) -> Path:
        return self.run / "evaluation"

    @property
    def checkpoint(self) -> str:
        return (self.run / "checkpoints" / "best").resolve().name

    def lines(self, name: str) -> list[str]:
        return read_lines(self.folder / name)

    def translations(self, test_set: str) -> list[str]:
        return self.lines(f"{test_set}/{self.checkpoint}.beam-4.txt")

    def references(self, test_set: str) -> list[list[str | None]]:
        """The references as sacreBLEU takes them."""
        second = f"{test_set}/reference-2.txt"
        sides: list[list[str | None]] = [list(self.lines(f"{test_set}/reference.txt"))]
        if (self.folder / second).exists():
            sides.append([line or None for line in self.lines(second)])
        return sides

    def score(self, test_set: str, metric: str = "bleu", normalization: str = "raw") -> dict[str, Any]:
        """The only entry of scores.json on a metric of a text; of a normalization, the beginning suffices."""
        (entry,) = [
            entry
            for entry in self.scores
            if (entry["test_set"], entry["metric"]) == (test_set, metric)
            and re.fullmatch(f"{normalization}( on both sides)?", entry["normalization"])
        ]
        return entry


@pytest.fixture(scope="module")
def evaluated(small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    texts = tmp_path_factory.mktemp("texts")
    arguments = []
    for name, rows in (("mine", MINE), ("letters", ARABIC_LETTERS), ("spaces", SPACES)):
        arguments += ["--test-set", write_test_set(texts, name, rows)]
    run = tmp_path_factory.mktemp("runs") / "run"
    shutil.copytree(small_run, run, symlinks=True, ignore=shutil.ignore_patterns("evaluation"))
    succeed("evaluate", "--run", run)
    own_files = contents(run / "evaluation")
    named = succeed("evaluate", "--run", run, *arguments)
    return Evaluated(run=run, named=named, own_files=own_files, scores=scores_of(run / "evaluation"))


def write_test_set(folder: Path, name: str, rows: list[Any]) -> str:
    """Write the sides of a test set to files; return what `--test-set` takes."""
    paths = []
    for number, texts in enumerate(zip(*rows, strict=True)):
        paths.append(str(write_lines(folder / f"{name}.{number}.txt", texts)))
    return f"{name}={':'.join(paths)}"


# --- scores.json ---


def test_the_first_score_is_bleu_13a_of_the_runs_own_test_text_as_it_is(evaluated: Evaluated) -> None:
    first = evaluated.scores[0]
    assert list(first) == [*FIELDS, "interval"]
    assert (first["test_set"], first["metric"], first["normalization"]) == ("small", "bleu", "raw")
    assert (first["search"], first["checkpoint"]) == ("beam-4", evaluated.checkpoint)
    assert (first["sentences"], first["left_out"]) == (30, [])
    assert "|tok:13a|" in first["signature"]
    assert first["score"] > 95


def test_evaluating_again_gives_the_scores_of_the_end_of_the_training(small_run: Path, evaluated: Evaluated) -> None:
    trained = contents(small_run / "evaluation")
    assert trained.keys() == evaluated.own_files.keys()
    assert trained["scores.json"] == evaluated.own_files["scores.json"]


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("bleu", BLEU(tokenize="13a")),
        ("bleu_intl", BLEU(tokenize="intl")),
        ("chrf", CHRF()),
        ("chrf++", CHRF(word_order=2)),
        ("ter", TER()),
    ],
)
@pytest.mark.parametrize("test_set", ["small", "mine"])
def test_a_raw_score_is_that_of_sacrebleu_on_the_written_files(
    test_set: str, name: str, metric: Metric, evaluated: Evaluated
) -> None:
    references: Any = evaluated.references(test_set)
    expected = metric.corpus_score(evaluated.translations(test_set), references, n_bootstrap=RESAMPLES)
    entry = evaluated.score(test_set, name)
    assert entry["score"] == pytest.approx(expected.score)
    assert entry["signature"] == str(metric.get_signature())
    assert entry["sentences"] == len(evaluated.translations(test_set))


def test_an_interval_has_its_score_within_and_no_value_that_the_metric_cannot_have(evaluated: Evaluated) -> None:
    for entry in evaluated.scores:
        low, high = entry["interval"]
        assert 0 <= low <= entry["score"] <= high + 1e-9
        if entry["metric"] not in ("ter", "length_ratio"):
            assert high <= 100
    low, high = evaluated.score("mine")["interval"]
    assert low < high


def test_references_in_arabic_letters_cost_the_raw_score_only(evaluated: Evaluated) -> None:
    assert evaluated.score("letters")["score"] < 60
    assert evaluated.score("letters", normalization=r"normalizer-\d+")["score"] == pytest.approx(100)


def test_a_space_for_a_half_space_costs_the_raw_and_the_normalized_score(evaluated: Evaluated) -> None:
    assert evaluated.score("spaces")["score"] < 90
    assert evaluated.score("spaces", normalization=r"normalizer-\d+")["score"] < 90
    folded = evaluated.score("spaces", normalization=r"normalizer-\d+, ZWNJ as space,")
    assert folded["score"] == pytest.approx(100)


def test_a_second_evaluation_keeps_the_scores_and_files_of_the_first(evaluated: Evaluated) -> None:
    first_scores = json.loads(evaluated.own_files["scores.json"])
    assert evaluated.scores[: len(first_scores)] == first_scores
    for name, content in evaluated.own_files.items():
        if name not in ("report.html", "scores.json"):
            assert (evaluated.folder / name).read_bytes() == content, name


# --- the lines of a test set ---


def test_a_line_without_a_reference_is_left_out_and_named_everywhere(evaluated: Evaluated) -> None:
    note = "1 of 5 left out (line 3)"
    assert note in evaluated.named.out
    assert note in evaluated.named.err
    assert note in page(evaluated)
    entry = evaluated.score("mine")
    assert (entry["sentences"], entry["left_out"]) == (4, [3])
    assert len(evaluated.translations("mine")) == 4


def test_each_line_has_the_references_that_it_has(evaluated: Evaluated) -> None:
    assert evaluated.lines("mine/reference-2.txt") == ["", CAR[1], "", ""]
    assert evaluated.score("mine")["signature"].startswith("nrefs:var|")


def test_the_written_text_is_the_text_of_the_user(evaluated: Evaluated) -> None:
    scored = [row for row in MINE if row[1]]
    assert evaluated.lines("mine/source.txt") == [row[0] for row in scored]
    assert evaluated.lines("mine/reference.txt") == [row[1] for row in scored]
    assert evaluated.lines("letters/reference.txt") == [row[1] for row in ARABIC_LETTERS]


def test_the_scored_translations_are_those_of_the_model(evaluated: Evaluated) -> None:
    assert evaluated.translations("mine") == [BOOK[1], CAR[1], BOOKS[1], TREE[1]]


def test_the_validation_text_can_be_evaluated_instead(small_copy: Path) -> None:
    shutil.rmtree(small_copy / "evaluation")
    succeed("evaluate", "--run", small_copy, "--split", "validation", "--no-report")
    scores = scores_of(small_copy / "evaluation")
    assert {(entry["test_set"], entry["sentences"]) for entry in scores} == {("validation", 20)}
    assert not (small_copy / "evaluation" / "report.html").exists()


# --- the files and the page ---


def test_an_evaluation_leaves_these_files(evaluated: Evaluated) -> None:
    names = {"scores.json", "report.html", "small/source.txt", "small/reference.txt"}
    assert set(evaluated.own_files) == {*names, f"small/{evaluated.checkpoint}.beam-4.txt"}


def test_the_page_has_every_sentence_also_of_earlier_sets_and_needs_no_network(evaluated: Evaluated) -> None:
    text = page(evaluated)
    for test_set in ("mine", "letters", "spaces", "small"):
        assert test_set in text
        for line in evaluated.lines(f"{test_set}/source.txt"):
            assert line in text
    assert BOOK[1] in text
    assert f"{evaluated.score('mine')['score']:.2f}" in text
    code = (evaluated.folder / "report.html").read_text(encoding="utf-8")
    assert not re.findall(r'(?:src|href)="(?!#|data:)', code)


def test_the_page_has_recipe_commit_and_curve_of_the_run(evaluated: Evaluated) -> None:
    code = (evaluated.folder / "report.html").read_text(encoding="utf-8")
    assert "<polyline points=" in code
    assert "initialization: counts" in page(evaluated)
    session = json.loads((evaluated.run / "run.json").read_text(encoding="utf-8"))["sessions"][-1]
    assert session["git"] is None or session["git"] in code


def test_the_console_shows_each_score_and_where_everything_is(evaluated: Evaluated) -> None:
    assert f"{evaluated.score('mine')['score']:.2f}" in evaluated.named.out
    assert f"Written to {evaluated.folder}" in evaluated.named.out
    assert f"For a browser: {evaluated.folder / 'report.html'}" in evaluated.named.out


def page(evaluated: Evaluated) -> str:
    """The text of the report, without its tags."""
    code = (evaluated.folder / "report.html").read_text(encoding="utf-8")
    return html.unescape(re.sub("<[^>]*>", "", code))


# --- noisy input ---


def test_noisy_input_is_scored_beside_the_text_as_it_is(small_copy: Path, tmp_path: Path) -> None:
    test_set = write_test_set(tmp_path, "mine", [BOOK, CAR, TREE, BOOKS])
    options = ("--robustness", "--search", "greedy", "--test-set", test_set)
    result = succeed("evaluate", "--run", small_copy, *options)
    folder = small_copy / "evaluation"
    assert {path.name.removeprefix("mine.") for path in folder.glob("mine.*")} == NOISES
    assert read_lines(folder / "mine.capitals" / "source.txt")[0] == "THE BOOK IS NEW."
    assert re.search(r"^capitals against \S+ by sentence .* 0 better, 0 worse, 4 alike$", result.out, re.MULTILINE), (
        "the model reads no capitals"
    )
    bare = folder / "mine.no-final-punctuation"
    assert read_lines(bare / "source.txt")[1] == "Is the car big"
    (file,) = bare.glob("*.greedy.txt")
    expected = CHRF().corpus_score(read_lines(file), [[BOOK[1], CAR[1], TREE[1], BOOKS[1]]]).score
    (score,) = scores_of(folder, test_set=bare.name, metric="chrf")
    assert score["score"] == pytest.approx(expected)
    assert re.search(rf"^chrf +no-final-punctuation +{expected:.2f} ", result.out, re.MULTILINE)


# --- other test sets ---


def test_a_test_set_that_the_run_was_trained_on_is_told(evaluated: Evaluated, tmp_path: Path) -> None:
    source_known = ("the BOOK is new!", "یک")
    reference_known = ("One.", TREE[1].replace("ی", "ي"))
    test_set = write_test_set(tmp_path, "old", [source_known, reference_known, ("The book", "کتاب"), ("Two.", "دو.")])
    result = succeed("evaluate", "--run", evaluated.run, "--test-set", test_set, "--no-report")
    assert "was trained on 2 of the 4 sentences of test set `old`" in result.err


def test_translations_by_another_program_stand_beside_ours(evaluated: Evaluated, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(evaluated.run, run, symlinks=True)
    test_set = write_test_set(tmp_path, "two", [BOOK, ("The lamp is green.", "چراغ سبز است.")])
    theirs = write_lines(tmp_path / "theirs.txt", [BOOK[1], "چراغ است."])
    result = succeed("evaluate", "--run", run, "--test-set", test_set, "--hypotheses", f"google={theirs}")
    assert re.search(r"^bleu +google ", result.out, re.MULTILINE)

    scores = scores_of(run / "evaluation", test_set="two", metric="chrf", normalization="raw")
    chrf = {score["checkpoint"]: score["score"] for score in scores}
    expected = CHRF().corpus_score(read_lines(theirs), [[BOOK[1], "چراغ سبز است."]]).score
    assert chrf.keys() == {"google", evaluated.checkpoint}
    assert chrf["google"] == pytest.approx(expected)
    assert "google" in (run / "evaluation" / "report.html").read_text(encoding="utf-8")

    # The run stays what `compare` compares.
    succeed("compare", run, evaluated.run, "--test-set", "mine")
