"""What was translated is read again as it was written, and a damaged file is one message."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.errors import InputError, StorageError
from translator.evaluation.metrics import compute_scores
from translator.evaluation.scored_set import ScoredSet, read_scored_set, write_scored_set
from translator.inference import Translation

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)


def scored(texts: list[tuple[str, str, str]], *, known: bool = True) -> ScoredSet:
    references = tuple((row[1], row[2]) for row in texts)
    found = [Translation(row[0], -1.5, -1.25, 4, 1, True) for row in texts]
    of_references = [Translation(row[1], -math.inf, -math.inf, 4, 1, False) for row in texts]
    return ScoredSet(
        test_set="flores",
        system="a+b",
        checkpoint="step-000005",
        search="beam-5",
        sources=tuple(row[2] for row in texts),
        references=references,
        hypotheses=tuple(row[0] for row in texts),
        origins=("flores",) * len(texts),
        scores=tuple(compute_scores([row[0] for row in texts], references, metrics=("chrf",), bootstrap_samples=40)),
        hypothesis_scores=tuple(found) if known else None,
        reference_scores=tuple(of_references) if known else None,
        rare_shares=(0.5,) * len(texts) if known else (),
    )


@settings(deadline=None, max_examples=30)
@given(texts=st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=4), known=st.booleans())
def test_any_text_comes_back(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str, str]], known: bool
) -> None:
    folder = tmp_path_factory.mktemp("evaluation")
    one = scored(texts, known=known)
    path = write_scored_set(folder, one)
    assert path.name == "flores.step-000005.beam-5.sentences.jsonl"
    assert read_scored_set(path) == one
    content = path.read_bytes()
    assert content.count(b"\n") == 1 + len(texts), "one line for each, whatever is inside"
    for line in content.splitlines():
        json.loads(line, parse_constant=pytest.fail)


def test_a_score_is_found_by_metric_and_spelling() -> None:
    one = scored([("سلام", "سلام", "Hello")])
    chrf = one.score("chrf")
    assert chrf is not None
    assert chrf.metric == "chrf"
    assert one.score("ter") is None
    assert one.score("chrf", "normalized") is None


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda lines: lines[:-1], "it has 1 sentences, 2 were written"),
        (lambda lines: [lines[0], lines[1][:-3], lines[2]], "line 2: "),
        (lambda lines: [lines[0], lines[1], b'{"source": 3}'], "line 3: source"),
        (lambda lines: [lines[0].replace(b'"version": 1', b'"version": 2'), *lines[1:]], "line 1: version"),
        (lambda lines: lines[1:], "line 1: "),
        (lambda lines: [b"\xff\xfe"], "line 1: "),
        (lambda lines: [b""], "line 1: "),
        (
            lambda lines: [lines[0], lines[1], lines[2].replace(b'"rare_share": 0.5', b'"rare_share": null')],
            "rare words",
        ),
        (lambda lines: [lines[0], lines[1], lines[2].replace(b'"hypothesis_score"', b'"x"')], "the model's score"),
    ],
)
def test_a_damaged_file_is_one_message(tmp_path: Path, damage: object, reason: str) -> None:
    path = write_scored_set(tmp_path, scored([("آ", "ب", "a"), ("پ", "ت", "b")]))
    assert callable(damage)
    path.write_bytes(b"\n".join(damage(path.read_bytes().splitlines())) + b"\n")
    with pytest.raises(InputError, match=r"sentences\.jsonl is not a file of translated sentences") as caught:
        read_scored_set(path)
    assert reason in str(caught.value)
    assert "evaluate again" in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"nowhere\.sentences\.jsonl"):
        read_scored_set(tmp_path / "nowhere.sentences.jsonl")


def test_a_reference_keeps_its_spelling_and_that_of_the_model(tmp_path: Path) -> None:
    one = scored([("کتاب", "كتاب", "book")])
    assert one.reference_scores is not None
    one = replace(one, reference_scores=(replace(one.reference_scores[0], text="کتاب"),))
    path = write_scored_set(tmp_path, one)
    again = read_scored_set(path)
    assert again == one
    assert again.references[0][0] == "كتاب"
    row = json.loads(path.read_text(encoding="utf-8").splitlines()[1])
    assert "text" not in row["hypothesis_score"], "it is said already"
    assert row["reference_score"]["text"] == "کتاب"
