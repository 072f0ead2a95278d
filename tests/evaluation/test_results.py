"""The files of an evaluation folder are read back as they were written; a damaged file gives one message."""

import dataclasses
import json
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.errors import InputError, RunError
from translator.evaluation.metrics import Score, compute_scores
from translator.evaluation.results import (
    ModelScore,
    ScoredSet,
    add_scores,
    claim_name,
    read_scored_set,
    read_text_sides,
    saved_scores,
    text_sides,
    write_scored_set,
)
from translator.inference.translation import Translation
from translator.run.files import hold_folder, write_json
from translator.run.folder import RunFolder

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
REFERENCE = TEXT.map("ب{}".format)  # not blank


def scored(texts: list[tuple[str, str, str]], *, by_model: bool = True) -> ScoredSet:
    """Return a set of hypotheses, first and second references; only every second sentence has a second reference."""
    hypotheses, first_references, second_references = zip(*texts, strict=True)
    references: list[tuple[str, ...]] = []
    for number, (_, first, second) in enumerate(texts):
        has_second = number % 2 == 1
        references.append((first, second) if has_second else (first,))

    # The model sees a reference in another spelling.
    hypothesis_scores = tuple(model_score(text, text, -1.5, finished=True) for text in hypotheses)
    reference_scores = tuple(
        model_score(seen, text, -math.inf, finished=False)
        for seen, text in zip(second_references, first_references, strict=True)
    )
    return ScoredSet(
        test_set="flores",
        system="a+b",
        checkpoint="step-000005",
        search="beam-5",
        sources=second_references,
        references=tuple(references),
        hypotheses=hypotheses,
        origins=("flores",) * len(texts),
        left_out=(2, 7),
        scores=tuple(compute_scores(hypotheses, references, metrics=("chrf",), bootstrap_samples=40)),
        hypothesis_scores=hypothesis_scores if by_model else None,
        reference_scores=reference_scores if by_model else None,
        rare_shares=(0.5,) * len(texts) if by_model else (),
    )


def model_score(seen: str, text: str, score: float, *, finished: bool) -> ModelScore:
    translation = Translation(text=seen, score=score, normalized_score=-1.25, tokens=4, pieces=1, finished=finished)
    return ModelScore.of(translation, text)


@settings(deadline=None, max_examples=30)
@given(texts=st.lists(st.tuples(TEXT, REFERENCE, REFERENCE), min_size=1, max_size=4), by_model=st.booleans())
def test_scored_sets_with_any_text_are_read_back_as_written(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str, str]], by_model: bool
) -> None:
    folder = tmp_path_factory.mktemp("evaluation")
    scored_set = scored(texts, by_model=by_model)
    path = write_scored_set(folder, scored_set)
    assert path.name == "flores.step-000005.beam-5.sentences.jsonl"
    assert read_scored_set(path) == scored_set
    content = path.read_bytes()
    assert content.count(b"\n") == 1 + len(texts), "one line for each, whatever is inside"
    for line in content.splitlines():
        json.loads(line, parse_constant=pytest.fail)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda lines: lines[:-1], "it has 1 of 2 sentences"),
        (lambda lines: [lines[0], lines[1][:-3], lines[2]], "line 2: "),
        (lambda lines: [lines[0], lines[1], b'{"source": 3}'], "line 3: source"),
        (lambda lines: [lines[0].replace(b'"version": 1', b'"version": 0'), *lines[1:]], "line 1: version"),
        (lambda lines: lines[1:], "line 1: "),
        (lambda lines: [b"\xff\xfe"], "line 1: "),
        (lambda lines: [b""], "line 1: "),
    ],
)
def test_a_damaged_sentences_file_is_refused_with_the_reason(
    tmp_path: Path, damage: Callable[[list[bytes]], list[bytes]], reason: str
) -> None:
    path = write_scored_set(tmp_path, scored([("آ", "ب", "a"), ("پ", "ت", "b")]))
    damaged_lines = damage(path.read_bytes().splitlines())
    path.write_bytes(b"\n".join(damaged_lines) + b"\n")
    with pytest.raises(InputError, match=r"sentences\.jsonl is not a file of translated sentences") as caught:
        read_scored_set(path)
    assert reason in str(caught.value)
    assert "evaluate again" in str(caught.value)


def test_a_sentences_file_with_an_unknown_key_is_called_newer(tmp_path: Path) -> None:
    path = write_scored_set(tmp_path, scored([("آ", "ب", "a")]))
    path.write_bytes(path.read_bytes().replace(b'{"source"', b'{"colour": 1, "source"'))
    with pytest.raises(InputError, match=r"made by a newer version of translator \(colour: unknown key\)"):
        read_scored_set(path)


FIRST = Score(
    test_set="mizan",
    metric="bleu",
    score=1.0,
    signature="s",
    normalization="raw",
    search="greedy",
    checkpoint="step-000005",
    sentences=3,
)
CHRF = dataclasses.replace(FIRST, metric="chrf", score=2.0)
BEAM = dataclasses.replace(FIRST, search="beam-5", score=3.0)
FLORES = dataclasses.replace(FIRST, test_set="flores", interval=(0.5, 1.5))


def test_new_scores_come_first(tmp_path: Path) -> None:
    add_scores(tmp_path, [FIRST, CHRF])
    assert add_scores(tmp_path, [BEAM]) == [BEAM, FIRST, CHRF]


def test_new_scores_replace_those_of_the_same_setting(tmp_path: Path) -> None:
    add_scores(tmp_path, [BEAM, FIRST, CHRF])
    again = dataclasses.replace(FIRST, score=9.0)
    assert add_scores(tmp_path, [again]) == [again, BEAM, CHRF]


def test_scores_of_another_test_set_come_last_on_request(tmp_path: Path) -> None:
    add_scores(tmp_path, [BEAM, CHRF])
    assert add_scores(tmp_path, [FLORES], first=False) == [BEAM, CHRF, FLORES]


def test_saved_scores_are_those_that_were_added(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    add_scores(run.evaluation_folder, [FIRST, FLORES])
    assert saved_scores(run) == [FIRST, FLORES]


def test_scores_json_has_an_interval_where_a_score_has_one(tmp_path: Path) -> None:
    add_scores(tmp_path, [FIRST, FLORES])
    first, flores = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    assert first == FIRST.to_json()
    assert "interval" not in first
    assert flores["interval"] == [0.5, 1.5]


@pytest.mark.parametrize("content", ["", "[", "{}", '[{"metric": "bleu"}]', "\xff"])
def test_a_damaged_scores_file_is_named_and_left_unchanged(tmp_path: Path, content: str) -> None:
    scores_file = tmp_path / "scores.json"
    scores_file.write_bytes(content.encode("latin-1"))
    with pytest.raises(RunError, match=r"scores\.json is damaged \(.*\); delete it and evaluate again"):
        add_scores(tmp_path, [FIRST])
    assert scores_file.read_bytes() == content.encode("latin-1")


SIDES = text_sides(["a", "b"], [("آ",), ("ب", "پ")])


def test_the_text_of_a_test_set_is_read_back_as_written(tmp_path: Path) -> None:
    claim_name(tmp_path, "flores", SIDES, replaces=False)
    assert read_text_sides(tmp_path, "flores") == SIDES
    assert (tmp_path / "flores.reference-2.txt").read_text(encoding="utf-8") == "\nپ\n"


def test_a_name_that_another_text_got_meanwhile_is_refused(tmp_path: Path) -> None:
    claim_name(tmp_path, "flores", SIDES, replaces=False)
    second_text = text_sides(["c"], [("ت",)])
    with pytest.raises(RunError, match="a different text named flores"):
        claim_name(tmp_path, "flores", second_text, replaces=False)
    assert read_text_sides(tmp_path, "flores") == SIDES
    claim_name(tmp_path, "flores", second_text, replaces=True)
    assert read_text_sides(tmp_path, "flores") == second_text, "without the second reference"


def test_a_text_that_a_killed_process_did_not_write_to_the_end_has_no_name(tmp_path: Path) -> None:
    claim_name(tmp_path, "flores", SIDES, replaces=False)
    (tmp_path / "flores.source.txt").unlink()
    claim_name(tmp_path, "flores", text_sides(["c"], [("ت",)]), replaces=False)
    assert len(read_text_sides(tmp_path, "flores")) == 2


def test_a_second_writer_waits_for_the_first(tmp_path: Path) -> None:
    """Without the lock, one writer could overwrite scores that the other has just written."""
    flores = dataclasses.replace(FIRST, test_set="flores")
    with ThreadPoolExecutor() as pool:
        with hold_folder(tmp_path):
            scores = pool.submit(add_scores, tmp_path, [flores])
            assert not wait((scores,), timeout=0.2).done
            write_json((tmp_path / "scores.json"), [FIRST.to_json()])
        assert scores.result() == [flores, FIRST]
