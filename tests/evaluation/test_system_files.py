"""Systems are found by run folder, by file of saved sentences, or as plain text."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from translated_sets import translated

from translator.cli import main
from translator.errors import InputError, RunError, TranslatorError
from translator.evaluation.compare import compare_systems, read_systems
from translator.evaluation.metrics import Score
from translator.evaluation.report import format_comparison
from translator.evaluation.results import ScoredSet, write_scored_set

REFERENCES = ["در باز است.", "او می‌خواند.", "هوا سرد است."]
SOURCES = ["The door is open.", "He reads.", "It is cold."]


def evaluated(folder: Path, *sets: ScoredSet) -> Path:
    (folder / "evaluation").mkdir(parents=True)
    (folder / "config.yaml").write_text("# The settings of this run, as resolved by translator.\n")
    scores = [
        Score(test_set=one.test_set, metric="bleu", score=1.0, signature="s", normalization="raw", search=one.search,
              checkpoint=one.checkpoint, sentences=len(one.sources)) for one in sets
    ]  # fmt: skip
    (folder / "evaluation" / "scores.json").write_text(json.dumps([score.to_json() for score in scores]))
    for one in sets:
        write_scored_set(folder / "evaluation", one)
    return folder


def made(hypotheses: list[str], test_set: str = "held", **others: str) -> ScoredSet:
    return translated(hypotheses, REFERENCES, SOURCES, test_set=test_set, **others)


def write(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    """Two run folders: the first was evaluated on two test sets, and on one of them twice."""
    first = evaluated(
        tmp_path / "runs" / "first",
        made(["نو"] * 3, system="first", checkpoint="step-000009"),
        made(["دوم"] * 3, "other", system="first", checkpoint="step-000009"),
        made(["کهنه"] * 3, system="first", checkpoint="step-000005", search="greedy"),
    )
    second = evaluated(tmp_path / "runs" / "second", made(REFERENCES, system="second"))
    return str(first), str(second)


def test_a_run_is_read_as_its_newest_evaluation_under_its_current_name(runs: tuple[str, str]) -> None:
    renamed = Path(runs[1]).rename(Path(runs[1]).with_name("new"))
    ((ours, theirs),) = read_systems([runs[0], str(renamed)])
    assert ours.hypotheses == ("نو",) * 3
    assert theirs.hypotheses == tuple(REFERENCES)
    assert theirs.system == "new"


@pytest.mark.parametrize("chosen", [{"checkpoint": "step-000005"}, {"checkpoint": "5"}, {"search": "greedy"}])
def test_an_older_evaluation_is_chosen_by_checkpoint_or_search(runs: tuple[str, str], chosen: dict[str, str]) -> None:
    ((ours, again),) = read_systems([runs[0], runs[0]], **chosen)
    assert ours.hypotheses == again.hypotheses == ("کهنه",) * 3


def test_all_shared_test_sets_are_read_and_unshared_ones_are_refused(runs: tuple[str, str]) -> None:
    assert [sets[0].test_set for sets in read_systems([runs[0], runs[0]])] == ["held", "other"]
    assert [sets[0].test_set for sets in read_systems([runs[0], runs[0]], test_sets=["other"])] == ["other"]
    with pytest.raises(InputError, match=r"test set other was not translated by all systems \(.*first: held, other; "):
        read_systems(runs, test_sets=["other"])


def test_two_searches_of_one_run_are_read_from_their_files(runs: tuple[str, str]) -> None:
    files = sorted(Path(runs[0], "evaluation").glob("held.*.sentences.jsonl"))
    ((ours, theirs),) = read_systems([str(file) for file in files])
    assert {ours.search, theirs.search} == {"greedy", "beam-5"}


def test_a_missing_evaluation_is_refused_with_the_command_that_makes_it(tmp_path: Path, runs: tuple[str, str]) -> None:
    bare = evaluated(tmp_path / "bare")
    with pytest.raises(RunError, match=f"no translated sentences; make them: translator evaluate --run {bare}$"):
        read_systems([runs[0], str(bare)])
    message = f"of step-000007 greedy; it has: held.step-000009.beam-5, .* --run {runs[0]} --checkpoint step-000007$"
    with pytest.raises(RunError, match=message):
        read_systems(runs, checkpoint="step-000007", search="greedy")


def test_plain_text_files_are_read_as_systems(tmp_path: Path) -> None:
    ours, theirs = write(tmp_path / "a.txt", ["یک", "", "سه"]), write(tmp_path / "b.txt", REFERENCES)
    source, reference = write(tmp_path / "news.en", SOURCES), write(tmp_path / "news.fa", REFERENCES)
    ((first, second),) = read_systems([ours, theirs], source=source, references=[reference, ours])
    assert (first.system, second.system, first.test_set) == ("a.txt", "b.txt", "news")
    assert first.hypotheses == ("یک", "", "سه")
    assert first.references == ((REFERENCES[0], "یک"), (REFERENCES[1],), (REFERENCES[2], "سه"))
    Path(theirs).write_bytes(b"\xef\xbb\xbf" + "\r\n".join(REFERENCES).encode() + b"\r\n")
    assert read_systems([ours, theirs], source=source, references=[reference])[0][1].hypotheses == tuple(REFERENCES)


def test_lines_without_a_reference_are_left_out_of_every_text_file(tmp_path: Path) -> None:
    ours, theirs = write(tmp_path / "a.txt", ["یک", "دو", "سه"]), write(tmp_path / "b.txt", ["یک", "سه"])
    source, reference = write(tmp_path / "news.en", SOURCES), write(tmp_path / "news.fa", [REFERENCES[0], " ", "سه"])
    ((first, second),) = read_systems([ours, theirs], source=source, references=[reference])
    assert first.hypotheses == second.hypotheses == ("یک", "سه"), "a file may also have the scored lines only"
    assert first.left_out == second.left_out == (2,)
    saved = write_scored_set(tmp_path, replace(first, checkpoint="step-000001", search="greedy"))
    ((_, text),) = read_systems([str(saved), ours])
    assert text.hypotheses == ("یک", "سه"), "like the evaluation"
    (line, *_) = format_comparison(compare_systems([first, second], metrics=("chrf",), samples=10, trials=0))
    assert line.startswith("news: 2 sentences, 1 of 3 left out (line 2); ")


def test_a_text_file_can_be_compared_with_a_run(tmp_path: Path, runs: tuple[str, str]) -> None:
    text = write(tmp_path / "a.txt", ["یک", "دو", "سه"])
    ((ours, theirs),) = read_systems([runs[1], text])
    assert theirs.sources == ours.sources
    assert theirs.hypotheses == ("یک", "دو", "سه")
    with pytest.raises(InputError, match=r"several test sets \(held, other\); select the one .* --test-set"):
        read_systems([runs[0], text])
    assert read_systems([runs[0], text], test_sets=["other"])[0][0].hypotheses == ("دوم",) * 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("یک\nدو\n".encode(), r"a\.txt has 2 lines, .*news\.en 3: line N must be"),
        (b"one\ntw\xff\nthree\n", r"a\.txt, line 2: not UTF-8 \(byte 0xff, "),
        (None, r"a\.txt does not exist; give run folders"),
    ],
)
def test_unusable_text_files_are_refused_with_the_reason(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "a.txt").write_bytes(content)
    source, reference = write(tmp_path / "news.en", SOURCES), write(tmp_path / "news.fa", REFERENCES)
    with pytest.raises(TranslatorError, match=message):
        read_systems([reference, str(tmp_path / "a.txt")], source=source, references=[reference])


def test_text_files_require_both_source_and_reference(tmp_path: Path) -> None:
    text = write(tmp_path / "a.txt", REFERENCES)
    with pytest.raises(InputError, match=r"a\.txt is a text file: also give --source FILE and --reference FILE"):
        read_systems([text, text])
    with pytest.raises(InputError, match="text files need both"):
        read_systems([text, text], source=text)


def test_compare_command_saves_json(runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "compared.json"
    flags = ["--metrics", "chrf", "--samples", "20", "--trials", "20", "--text", "raw", "folded", "--json", str(saved)]
    assert main(["compare", *runs, *flags]) == 0
    out = capsys.readouterr().out
    assert "held: 3 sentences; differences and p-values against first" in out
    assert "second against first by sentence (chrF, raw): 3 better, 0 worse, 0 alike" in out
    assert "ZWNJ as space" in out
    (values,) = json.loads(saved.read_text(encoding="utf-8"))
    assert values["systems"] == ["first", "second"]
    assert len(values["tests"]) == 4
    assert values["tests"][0]["systems"][1]["difference"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{run}"], "a comparison needs at least two systems"),
        (["{run}", "{run}", "--samples", "-1"], "--samples -1 is negative"),
        (["{run}", "{run}", "--samples", "0", "--trials", "0"], "leave no significance test"),
        (["{run}", "{run}", "--json", "{folder}"], "cannot write {folder}: this is a folder"),
    ],
)
def test_compare_command_refuses_wrong_arguments(
    runs: tuple[str, str], arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"run": runs[0], "folder": tmp_path}
    assert main(["compare", *(one.format(**names) for one in arguments)]) == 2
    printed = capsys.readouterr()
    assert message.format(**names) in printed.err
    assert not printed.out


def test_a_translation_longer_than_a_mebibyte_is_refused_with_its_line(tmp_path: Path) -> None:
    source, reference, short, long = (tmp_path / name for name in ("s.en", "r.fa", "short.fa", "long.fa"))
    source.write_text("Yes.\nNo.\n", encoding="utf-8")
    reference.write_text("بله.\nنه.\n", encoding="utf-8")
    short.write_text("بله.\nنه.\n", encoding="utf-8")
    long.write_text("بله.\n" + "نه " * 300_000 + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"long.fa, line 2: longer than 1 MiB"):
        read_systems([str(short), str(long)], source=str(source), references=[str(reference)])
