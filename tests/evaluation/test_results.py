"""The files of an evaluation folder are read back as they were written; a damaged file gives one message."""

import dataclasses
import json
import math
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
from translator.run.folder import RunFolder
from translator.run.locks import exclusive
from translator.run.storage import write_json

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
REFERENCE = TEXT.map("ب{}".format)  # not blank


def scored(texts: list[tuple[str, str, str]], *, by_model: bool = True) -> ScoredSet:
    references = tuple((row[1], row[2])[: 1 + number % 2] for number, row in enumerate(texts))
    hypothesis_scores = [ModelScore.of(Translation(row[0], -1.5, -1.25, 4, 1, True), row[0]) for row in texts]
    # The model sees a reference in another spelling.
    reference_scores = [ModelScore.of(Translation(row[2], -math.inf, -1.0, 4, 1, False), row[1]) for row in texts]
    return ScoredSet(
        test_set="flores",
        system="a+b",
        checkpoint="step-000005",
        search="beam-5",
        sources=tuple(row[2] for row in texts),
        references=references,
        hypotheses=tuple(row[0] for row in texts),
        origins=("flores",) * len(texts),
        left_out=(2, 7),
        scores=tuple(compute_scores([row[0] for row in texts], references, metrics=("chrf",), bootstrap_samples=40)),
        hypothesis_scores=tuple(hypothesis_scores) if by_model else None,
        reference_scores=tuple(reference_scores) if by_model else None,
        rare_shares=(0.5,) * len(texts) if by_model else (),
    )


@settings(deadline=None, max_examples=30)
@given(texts=st.lists(st.tuples(TEXT, REFERENCE, REFERENCE), min_size=1, max_size=4), known=st.booleans())
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
def test_a_damaged_sentences_file_is_refused_with_the_reason(tmp_path: Path, damage: object, reason: str) -> None:
    path = write_scored_set(tmp_path, scored([("آ", "ب", "a"), ("پ", "ت", "b")]))
    assert callable(damage)
    path.write_bytes(b"\n".join(damage(path.read_bytes().splitlines())) + b"\n")
    with pytest.raises(InputError, match=r"sentences\.jsonl is not a file of translated sentences") as caught:
        read_scored_set(path)
    assert reason in str(caught.value)
    assert "evaluate again" in str(caught.value)


def test_a_sentences_file_with_an_unknown_key_is_called_newer(tmp_path: Path) -> None:
    path = write_scored_set(tmp_path, scored([("آ", "ب", "a")]))
    path.write_bytes(path.read_bytes().replace(b'{"source"', b'{"colour": 1, "source"'))
    with pytest.raises(InputError, match=r"made by a newer version of translator \(colour: unknown key\)"):
        read_scored_set(path)


FIRST = Score(test_set="mizan", metric="bleu", score=1.0, signature="s", normalization="raw", search="greedy",
              checkpoint="step-000005", sentences=3)  # fmt: skip


def test_new_scores_come_first_and_replace_those_of_the_same_setting(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    chrf = dataclasses.replace(FIRST, metric="chrf", score=2.0)
    beam = dataclasses.replace(FIRST, search="beam-5", score=3.0)
    add_scores(run.evaluation_folder, [FIRST, chrf])
    assert add_scores(run.evaluation_folder, [beam]) == [beam, FIRST, chrf]
    again = dataclasses.replace(FIRST, score=9.0)
    assert add_scores(run.evaluation_folder, [again]) == [again, beam, chrf]
    flores = dataclasses.replace(FIRST, test_set="flores", interval=(0.5, 1.5))
    assert add_scores(run.evaluation_folder, [flores], first=False) == [again, beam, chrf, flores]
    assert saved_scores(run) == [again, beam, chrf, flores]
    entries = json.loads((run.evaluation_folder / "scores.json").read_text(encoding="utf-8"))
    assert entries[0] == again.to_json()
    assert "interval" not in entries[0]
    assert entries[3]["interval"] == [0.5, 1.5]


@pytest.mark.parametrize("content", ["", "[", "{}", '[{"metric": "bleu"}]', "\xff"])
def test_a_damaged_scores_file_is_named_and_left_unchanged(tmp_path: Path, content: str) -> None:
    run = RunFolder(tmp_path)
    (run.evaluation_folder / "scores.json").parent.mkdir()
    (run.evaluation_folder / "scores.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(RunError, match=r"scores\.json is damaged \(.*\); delete it and evaluate again"):
        add_scores(run.evaluation_folder, [FIRST])
    assert (run.evaluation_folder / "scores.json").read_bytes() == content.encode("latin-1")


SIDES = text_sides(["a", "b"], [("آ",), ("ب", "پ")])


def test_the_text_of_a_test_set_is_read_back_as_written(tmp_path: Path) -> None:
    claim_name(tmp_path, "flores", SIDES, replaces=False)
    assert read_text_sides(tmp_path, "flores") == SIDES
    assert (tmp_path / "flores.reference-2.txt").read_text(encoding="utf-8") == "\nپ\n"


def test_a_name_that_another_text_got_meanwhile_is_refused(tmp_path: Path) -> None:
    claim_name(tmp_path, "flores", SIDES, replaces=False)
    second_text = text_sides(["c"], [("ت",)])
    with pytest.raises(RunError, match="another text called flores"):
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
        with exclusive(tmp_path) as free:
            assert free
            scores = pool.submit(add_scores, tmp_path, [flores])
            assert not wait((scores,), timeout=0.2).done
            write_json((tmp_path / "scores.json"), [FIRST.to_json()])
        assert scores.result() == [flores, FIRST]
