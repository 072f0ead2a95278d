"""Translate in all forms: arguments, a pipe, files, lists with scores, every search, both engines, and from Python."""

import gzip
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fence.damage import let_diverge
from tests.fence.files import read_lines
from tests.fence.small_language import counted, question, seen, statement
from tests.support.command_line import Finished, refusal, succeed
from translator import Translator

ENGINES = ("ctranslate2", "torch")
FLOAT32 = "search.precision=float32"
PAIRS = [
    statement("book", "old"),
    question("tree", "new"),
    seen("letter", "white"),
    counted("road", 17, "at home"),
    statement("car", "beautiful"),
]
SOURCES = [english for english, _ in PAIRS]
TRANSLATIONS = [persian for _, persian in PAIRS]
UNUSUAL = [
    "The old book is in the new house.",
    "I see the old and the new and the red book.",
    "I see",
    "Teh book is odl.",
    "The book is old. I see the new car. Is the tree big?",
    "white white white white",
]
"""Texts unlike those of the training, of which the model is not sure."""


def lines_of(texts: Sequence[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


def translated(run: Path, *arguments: str | Path, stdin: str = "") -> Finished:
    """Run `translator translate`."""
    return succeed("translate", "--run", run, *arguments, stdin=stdin)


@pytest.fixture(scope="module")
def engines(small_run: Path) -> dict[str, Translator]:
    """The small model in both engines, in the one precision that they share on a CPU."""
    return {engine: Translator.load(small_run, engine=engine, overrides=[FLOAT32]) for engine in ENGINES}


# --- texts in, lines out ---


def test_each_argument_gives_a_line(small_run: Path) -> None:
    assert translated(small_run, *SOURCES[:2]).lines == TRANSLATIONS[:2]


def test_each_line_of_a_pipe_gives_a_line_whatever_is_in_it(small_run: Path) -> None:
    odd = ["", "   ", "* * *", "The book is old. I see the white letter.", SOURCES[0] * 20, "سلام"]
    result = translated(small_run, stdin=lines_of([*odd, *SOURCES]))
    assert len(result.lines) == len(odd) + len(SOURCES)
    assert result.lines[:4] == ["", "", "* * *", "کتاب قدیمی است. نامه سفید را می‌بینم."]
    assert result.lines[len(odd) :] == TRANSLATIONS


def test_a_last_line_without_its_end_is_a_line(small_run: Path) -> None:
    assert translated(small_run, stdin="\n".join(SOURCES)).out == lines_of(TRANSLATIONS)


def test_an_empty_input_gives_nothing(small_run: Path) -> None:
    assert translated(small_run, stdin="").out == ""


@pytest.mark.parametrize("name", ["book.en", "book.en.gz"])
def test_a_file_is_translated_into_a_file(name: str, small_run: Path, tmp_path: Path) -> None:
    text = lines_of(SOURCES).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    result = translated(small_run, "--input", tmp_path / name, "--output", tmp_path / "book.fa")
    assert read_lines(tmp_path / "book.fa") == TRANSLATIONS
    assert result.out == ""
    assert sorted(file.name for file in tmp_path.iterdir()) == ["book.en" + name[7:], "book.fa"]


# --- lists, scores, alignments ---


@pytest.mark.parametrize("engine", ENGINES)
def test_json_lines_hold_the_source_and_its_translations_best_first(engine: str, small_run: Path) -> None:
    result = translated(
        small_run, "--engine", engine, "--format", "jsonl", "--n-best", "3", "--scores", stdin=lines_of(SOURCES)
    )
    records = [json.loads(line) for line in result.lines]
    assert [record["line"] for record in records] == [1, 2, 3, 4, 5]
    assert [record["source"] for record in records] == SOURCES
    assert [record["translations"][0]["text"] for record in records] == TRANSLATIONS
    for record in records:
        scores = [translation["normalized_score"] for translation in record["translations"]]
        assert len(scores) == 3
        assert scores == sorted(scores, reverse=True)
        assert scores[0] < 0


def test_a_list_in_plain_text_has_the_same_number_of_lines_for_each_text(small_run: Path) -> None:
    result = translated(small_run, "--n-best", "3", stdin=lines_of([*SOURCES[:2], "* * *"]))
    assert len(result.lines) == 9
    assert result.lines[::3] == [*TRANSLATIONS[:2], "* * *"]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_alignment_links_words_of_both_sides(engine: str, small_run: Path) -> None:
    result = translated(small_run, "--engine", engine, "--format", "tsv", "--alignment", SOURCES[3])
    cells = result.lines[0].split("\t")
    assert cells[3] == TRANSLATIONS[3]
    assert "2-2" in cells[-1].split(), "17 is the third word of both sides"


# --- the best translation is the best ---


@pytest.mark.parametrize("prefix", ["", "کتاب سرخ"])
@pytest.mark.parametrize("engine", ENGINES)
def test_neither_scores_nor_lists_change_the_first_translation(
    engine: str, prefix: str, engines: dict[str, Translator]
) -> None:
    texts = SOURCES + UNUSUAL
    prefixes = [prefix] * len(texts)
    model = engines[engine]
    without_scores = model.translations(texts, prefixes=prefixes, scored=False)
    with_scores = model.translations(texts, prefixes=prefixes)
    lists = model.translations(texts, prefixes=prefixes, count=4)
    for one, scored, ranked in zip(without_scores, with_scores, lists, strict=True):
        assert one[0].text == scored[0].text == ranked[0].text
        assert ranked[0].text.startswith(prefix)


@pytest.mark.parametrize("prefix", ["", "کتاب"])
def test_both_engines_rank_alike(prefix: str, engines: dict[str, Translator]) -> None:
    texts = SOURCES + UNUSUAL
    first, second = (model.translations(texts, prefixes=[prefix] * len(texts)) for model in engines.values())
    for one, other in zip(first, second, strict=True):
        assert one[0].text == other[0].text
        assert one[0].normalized_score == pytest.approx(other[0].normalized_score, abs=1e-3)


def test_what_was_cut_off_comes_after_what_ended(small_run: Path) -> None:
    for engine in ENGINES:
        model = Translator.load(small_run, engine=engine, overrides=["search.max_length_ratio=0.1"])
        for ranked in model.translations(SOURCES + UNUSUAL, count=4):
            endings = [translation.finished for translation in ranked]
            assert endings == sorted(endings, reverse=True)


def test_a_forced_beginning_begins_every_translation(small_run: Path) -> None:
    result = translated(small_run, "--prefix", "آیا خانه", "--n-best", "3", stdin=lines_of(SOURCES))
    assert len(result.lines) == 15
    assert all(line.startswith("آیا خانه") for line in result.lines if line)


# --- every search ---


def test_greedy_search_and_a_beam_of_one_are_the_same(small_run: Path) -> None:
    texts = lines_of(SOURCES + UNUSUAL)
    greedy = translated(small_run, "--search", "greedy", stdin=texts)
    assert greedy.lines == translated(small_run, "--beam", "1", stdin=texts).lines
    assert greedy.lines[: len(SOURCES)] == TRANSLATIONS


def test_sampling_draws_the_same_with_the_same_seed(small_run: Path) -> None:
    command = ("--search", "sampling", "--n-best", "3", "--set", "search.temperature=3", "search.seed=7")
    first = translated(small_run, *command, "--", *SOURCES)
    assert first.lines == translated(small_run, *command, "--", *SOURCES).lines
    assert len(set(first.lines)) > len(SOURCES), "draws differ"


def test_an_ensemble_of_a_run_with_itself_is_that_run(small_run: Path) -> None:
    assert translated(small_run, "--run", small_run, stdin=lines_of(SOURCES)).lines == TRANSLATIONS


def test_a_reverse_run_ranks_the_hypotheses_of_the_beam(small_run: Path, reverse_run: Path) -> None:
    width = 12  # of so many hypotheses, the reverse run prefers some others, whatever the processor's rounding
    command = ("--n-best", str(width), "--beam", str(width), "--")
    plain = translated(small_run, *command, *SOURCES).lines
    reranked = translated(small_run, "--rerank", reverse_run, *command, *SOURCES).lines
    for start in range(0, len(plain), width):
        assert sorted(reranked[start : start + width]) == sorted(plain[start : start + width])
    assert len(reranked) == len(plain)
    assert reranked != plain


GREEDY = "method=greedy"
CHANGES = {
    "method": ["method=greedy"],
    "beam_size": ["beam_size=1"],
    "length_penalty": [GREEDY, "length_penalty=3"],
    "length_normalization": [GREEDY, "length_normalization=average"],
    "max_length_ratio": [GREEDY, "max_length_ratio=0.01"],
    "min_length_ratio": [GREEDY, "min_length_ratio=2"],
    "no_repeat_ngram": [GREEDY, "no_repeat_ngram=1"],
    "split_sentences": [GREEDY, "split_sentences=false"],
    "correct_spelling": [GREEDY, "correct_spelling=false"],
}
"""For each key of `search` that changes what both engines find: settings with it. Greedy search is exact in both."""
DRAWS = {"temperature": "0.1", "top_k": "1", "top_p": "0.2", "seed": "2"}
"""Keys of sampling, which only torch does."""
HARMLESS = {"batch_size": "1", "processes": "1"}
"""Keys that change no translation."""
OTHERS = {"avoid_loops", "glossary", "orthography", "precision", "rerank", "tag"}
"""Keys that change the text around the search, and the precision, which each engine has of its own."""


def test_every_key_of_search_has_its_test_here(small_run: Path) -> None:
    recipe = yaml.safe_load((small_run / "config.yaml").read_text(encoding="utf-8"))
    assert set(recipe["search"]) == {*CHANGES, *DRAWS, *HARMLESS, *OTHERS}


def found(run: Path, engine: str, *settings: str) -> list[tuple[str, float]]:
    """Return the best translation of each text, with its score."""
    overrides = [FLOAT32, *(f"search.{setting}" for setting in settings)]
    model = Translator.load(run, engine=engine, overrides=overrides)
    return [(ranked[0].text, ranked[0].normalized_score) for ranked in model.translations(SOURCES + UNUSUAL)]


def differences(first: Sequence[tuple[str, float]], second: Sequence[tuple[str, float]]) -> int:
    """Return the number of texts whose translations, or their scores, differ."""
    count = 0
    for (text, score), (other_text, other_score) in zip(first, second, strict=True):
        count += text != other_text or abs(score - other_score) > 1e-3
    return count


@pytest.fixture(scope="module")
def plain(small_run: Path) -> dict[str, list[tuple[str, float]]]:
    """What torch finds without and with greedy search."""
    return {"beam": found(small_run, "torch"), "greedy": found(small_run, "torch", GREEDY)}


@pytest.mark.parametrize("key", CHANGES)
def test_both_engines_obey_every_key_of_search(key: str, small_run: Path, plain: dict[str, Any]) -> None:
    exported = found(small_run, "ctranslate2", *CHANGES[key])
    assert differences(exported, found(small_run, "torch", *CHANGES[key])) == 0
    without_key = plain["greedy" if CHANGES[key][0] == GREEDY and key != "method" else "beam"]
    assert differences(exported, without_key) > 0, "the key changes nothing"


SAMPLING = ("method=sampling", "temperature=2")


@pytest.fixture(scope="module")
def drawn(small_run: Path) -> list[tuple[str, float]]:
    return found(small_run, "torch", *SAMPLING)


@pytest.mark.parametrize("key", DRAWS)
def test_every_key_of_sampling_changes_the_draws(key: str, small_run: Path, drawn: list[tuple[str, float]]) -> None:
    assert differences(drawn, found(small_run, "torch", *SAMPLING, f"{key}={DRAWS[key]}")) > 0


@pytest.mark.parametrize("key", HARMLESS)
@pytest.mark.parametrize("engine", ENGINES)
def test_keys_of_speed_change_no_translation(engine: str, key: str, small_run: Path, plain: dict[str, Any]) -> None:
    assert differences(found(small_run, engine, GREEDY, f"{key}={HARMLESS[key]}"), plain["greedy"]) == 0


# --- a model that has diverged ---


@pytest.fixture(scope="module", params=["nan", "inf", "1e38"])
def diverged(request: pytest.FixtureRequest, small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a weight that is no number or infinite, or with weights whose products are infinite."""
    copy = tmp_path_factory.mktemp("diverged") / "run"
    shutil.copytree(small_run, copy, symlinks=True)
    let_diverge(copy, float(request.param), all_weights=request.param == "1e38")
    return copy


def test_a_model_that_has_diverged_neither_translates_nor_is_scored(diverged: Path) -> None:
    translate = ("translate", "--run", diverged, SOURCES[0])
    for command in (
        (*translate, "--engine", "ctranslate2"),
        (*translate, "--engine", "torch"),
        ("evaluate", "--run", diverged),
    ):
        assert "training has diverged; use an earlier checkpoint" in refusal(*command)


# --- from Python ---


@pytest.mark.parametrize("engine", ENGINES)
def test_python_translates_a_text_and_lines(engine: str, engines: dict[str, Translator]) -> None:
    assert engines[engine].translate(SOURCES[0]) == TRANSLATIONS[0]
    assert engines[engine].translate_lines([*SOURCES, ""]) == [*TRANSLATIONS, ""]
    assert engines[engine].translate_lines([]) == []


def test_one_text_in_place_of_lines_is_refused(engines: dict[str, Translator]) -> None:
    with pytest.raises(Exception, match="texts must be a list of texts"):
        engines["torch"].translate_lines(SOURCES[0])
