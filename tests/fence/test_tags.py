"""Source tags: a model learns the styles of its corpora, and writes in the one that is asked for."""

import json
import random
from pathlib import Path

import pytest

from tests.fence.conftest import write_small_recipe
from tests.fence.files import scores_of, write_lines
from tests.fence.small_language import all_pairs
from tests.support.command_line import refusal, succeed
from translator.inference.engines.ctranslate2 import Ctranslate2Searcher

TEXT = "The book is old.\nI see the white tree.\nIs the door new?\n"
DEAR = "جان"  # at the end of each Persian sentence of one of the corpora


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on two corpora with tags, which have the same English sentences and other Persian ones."""
    folder = tmp_path_factory.mktemp("tags")
    for name, addition in (("plain", ""), ("dear", f" {DEAR}")):
        rows = [f"{english}\t{persian[:-1]}{addition}{persian[-1]}" for english, persian in all_pairs()]
        random.Random(name).shuffle(rows)
        write_lines(folder / f"{name}.tsv", rows)
    sources = [{"name": name, "path": f"{folder}/{name}.tsv", "tag": True} for name in ("plain", "dear")]
    settings = (f"corpus.sources={json.dumps(sources)}", "training.max_steps=100", "training.validate_every=100")
    succeed("train", "--config", write_small_recipe(folder), "--set", *settings)
    return folder / "runs" / "small"


def translate(run: Path, *arguments: str) -> list[str]:
    """Translate the text with a tag, or without."""
    return succeed("translate", "--run", run, *arguments, stdin=TEXT).lines


def test_a_tag_chooses_the_style_of_its_corpus(run: Path) -> None:
    dear = translate(run, "--tag", "dear")
    plain = translate(run, "--tag", "plain")
    assert len(dear) == len(plain) == 3
    assert all(DEAR in line for line in dear), dear
    assert not any(DEAR in line for line in plain), plain


def test_a_text_without_a_tag_is_translated(run: Path) -> None:
    assert "کتاب" in translate(run)[0]


def test_held_out_text_has_the_tag_of_its_corpus(run: Path) -> None:
    chrf = {}  # by test set and search
    for tag in ("auto", "plain"):
        succeed("evaluate", "--run", run, "--no-report", "--set", f"search.tag={tag}")
    for entry in scores_of(run / "evaluation", metric="chrf", normalization="raw"):
        chrf[entry["test_set"], entry["search"]] = entry["score"]
    own, plain = "beam-4", "beam-4-tag-plain"
    assert chrf["plain", own] == chrf["plain", plain]
    assert chrf["dear", own] > chrf["dear", plain] + 5


def test_validation_text_of_several_sources_is_scored_by_source(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = ("evaluate", "--run", run, "--split", "validation", "--no-report")
    lines = succeed(*evaluate).lines
    start = lines.index("validation: raw text by source")
    assert lines[start + 1].split() == ["chrF"]
    assert [line.split(",")[0] for line in lines[start + 3 : start + 5]] == ["plain", "dear"]

    # Also in smaller blocks, each sentence has the tag of its source.
    monkeypatch.setattr("translator.evaluation.evaluate._BLOCK", 1)
    monkeypatch.setattr(Ctranslate2Searcher, "batch_rows", 3)
    assert succeed(*evaluate).lines == lines


def test_an_alignment_leaves_out_the_tag(run: Path) -> None:
    first_line = translate(run, "--tag", "dear", "--format", "jsonl", "--alignment")[0]
    (translation,) = json.loads(first_line)["translations"]
    assert translation["alignment"]["source"] == ["the", "book", "is", "old."]
    assert translation["alignment"]["pairs"][0] == [1, 0], "the noun begins the Persian sentence"


def test_an_unknown_tag_is_refused(run: Path) -> None:
    assert "this model has no tag `nobody`" in refusal("translate", "--run", run, "--tag", "nobody", stdin=TEXT)
