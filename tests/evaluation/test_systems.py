"""Systems are found by run folder, or as text files."""

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.translated_sets import evaluated_run, translated
from translator.config.corpus_section import ENGLISH, PERSIAN
from translator.errors import InputError, RunError, TranslatorError
from translator.evaluation.compare import compare_systems
from translator.evaluation.results import ScoredSet
from translator.evaluation.systems import languages_of, read_systems
from translator.evaluation.terminal_report import format_comparison

REFERENCES = ["در باز است.", "او می‌خواند.", "هوا سرد است."]
SOURCES = ["The door is open.", "He reads.", "It is cold."]


def saved_set(
    hypotheses: list[str],
    test_set: str = "held",
    system: str = "first",
    checkpoint: str = "step-000009",
    search: str = "beam-5",
) -> ScoredSet:
    return translated(
        hypotheses, REFERENCES, SOURCES, test_set=test_set, system=system, checkpoint=checkpoint, search=search
    )


def write(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    """Two run folders: the first was evaluated on two test sets, and on one of them twice."""
    first = evaluated_run(
        tmp_path / "runs" / "first",
        saved_set(["نو"] * 3, system="first", checkpoint="step-000009"),
        saved_set(["دوم"] * 3, "other", system="first", checkpoint="step-000009"),
        saved_set(["کهنه"] * 3, system="first", checkpoint="step-000005", search="greedy"),
    )
    second = evaluated_run(tmp_path / "runs" / "second", saved_set(REFERENCES, system="second"))
    return str(first), str(second)


def test_a_run_is_read_as_its_newest_evaluation(runs: tuple[str, str]) -> None:
    ((first, second),) = read_systems(runs)
    assert first.hypotheses == ("نو",) * 3
    assert second.hypotheses == tuple(REFERENCES)


def test_a_renamed_run_is_read_under_its_new_name(runs: tuple[str, str]) -> None:
    second_run = Path(runs[1])
    renamed = second_run.rename(second_run.with_name("new"))
    ((_, second),) = read_systems([runs[0], str(renamed)])
    assert second.system == "new"


@pytest.mark.parametrize("checkpoint", ["step-000005", "5"])
def test_an_older_evaluation_is_chosen_by_its_checkpoint(runs: tuple[str, str], checkpoint: str) -> None:
    ((first, again),) = read_systems([runs[0], runs[0]], checkpoint=checkpoint)
    assert first.hypotheses == again.hypotheses == ("کهنه",) * 3


def test_all_test_sets_that_the_systems_share_are_read(runs: tuple[str, str]) -> None:
    assert [sets[0].text.name for sets in read_systems([runs[0], runs[0]])] == ["held", "other"]


def test_only_the_named_test_sets_are_read(runs: tuple[str, str]) -> None:
    assert [sets[0].text.name for sets in read_systems([runs[0], runs[0]], test_sets=["other"])] == ["other"]


def test_a_test_set_that_a_system_lacks_is_refused(runs: tuple[str, str]) -> None:
    with pytest.raises(InputError, match=r"test set other was not translated by all systems \(.*first: held, other; "):
        read_systems(runs, test_sets=["other"])


def test_two_searches_of_one_run_are_read_from_their_files(runs: tuple[str, str]) -> None:
    files = sorted(Path(runs[0], "evaluation", "held").glob("step-*.txt"))
    ((first, second),) = read_systems([str(file) for file in files])
    assert (first.hypotheses, second.hypotheses) == (("کهنه",) * 3, ("نو",) * 3)
    assert first.text.name == "held"
    assert first.text.references == tuple((text,) for text in REFERENCES)


def test_a_run_without_an_evaluation_is_refused_with_the_command_that_makes_it(
    tmp_path: Path, runs: tuple[str, str]
) -> None:
    bare = evaluated_run(tmp_path / "bare")
    with pytest.raises(RunError, match=f"no translated test sets; make them: translator evaluate --run {bare}$"):
        read_systems([runs[0], str(bare)])


def test_a_missing_checkpoint_is_refused_with_the_command_that_makes_it(runs: tuple[str, str]) -> None:
    message = f"no translated test sets of step-000007; make them: .* --run {runs[0]} --checkpoint step-000007$"
    with pytest.raises(RunError, match=message):
        read_systems(runs, checkpoint="step-000007")


class TextFiles(NamedTuple):
    """Paths of a test set of text files, and of two systems."""

    source: str
    reference: str
    partial: str  # translations, of which the second is empty
    perfect: str


@pytest.fixture
def files(tmp_path: Path) -> TextFiles:
    return TextFiles(
        source=write(tmp_path / "news.en", SOURCES),
        reference=write(tmp_path / "news.fa", REFERENCES),
        partial=write(tmp_path / "partial.txt", ["یک", "", "سه"]),
        perfect=write(tmp_path / "perfect.txt", REFERENCES),
    )


def test_a_text_file_is_a_system_with_its_name(files: TextFiles) -> None:
    ((partial, perfect),) = read_systems(
        [files.partial, files.perfect], source=files.source, references=[files.reference]
    )
    assert (partial.system, perfect.system, partial.text.name) == ("partial.txt", "perfect.txt", "news")
    assert partial.hypotheses == ("یک", "", "سه")


def test_a_sentence_has_those_references_that_are_not_blank(files: TextFiles) -> None:
    references = [files.reference, files.partial]
    ((partial, _),) = read_systems([files.partial, files.perfect], source=files.source, references=references)
    assert partial.text.references == ((REFERENCES[0], "یک"), (REFERENCES[1],), (REFERENCES[2], "سه"))


def test_a_byte_order_mark_and_windows_line_ends_are_no_text(files: TextFiles) -> None:
    Path(files.perfect).write_bytes(b"\xef\xbb\xbf" + "\r\n".join(REFERENCES).encode() + b"\r\n")
    ((_, perfect),) = read_systems([files.partial, files.perfect], source=files.source, references=[files.reference])
    assert perfect.hypotheses == tuple(REFERENCES)


@pytest.fixture
def incomplete_sets(tmp_path: Path) -> list[ScoredSet]:
    """A test set whose second line has no reference: a file with all lines, and one with the scored lines."""
    all_lines = write(tmp_path / "all.txt", ["یک", "دو", "سه"])
    scored_lines = write(tmp_path / "scored.txt", ["یک", "سه"])
    source = write(tmp_path / "news.en", SOURCES)
    reference = write(tmp_path / "news.fa", [REFERENCES[0], " ", "سه"])
    (sets,) = read_systems([all_lines, scored_lines], source=source, references=[reference])
    return sets


def test_lines_without_a_reference_are_left_out_of_every_text_file(incomplete_sets: list[ScoredSet]) -> None:
    for scored in incomplete_sets:
        assert scored.hypotheses == ("یک", "سه")
        assert scored.text.left_out == (2,)


def test_lines_left_out_of_a_run_are_left_out_of_a_text_file(tmp_path: Path) -> None:
    run = evaluated_run(tmp_path / "run", translated(["یک", "سه"], left_out=(2,)))
    all_lines = write(tmp_path / "all.txt", ["یک", "دو", "سه"])
    ((_, text),) = read_systems([str(run), all_lines])
    assert text.hypotheses == ("یک", "سه")


def test_a_comparison_names_the_lines_left_out(incomplete_sets: list[ScoredSet]) -> None:
    comparison = compare_systems(incomplete_sets, metrics=("chrf",))
    assert format_comparison(comparison)[0].startswith("news: 2 sentences, 1 of 3 left out (line 2); ")


def test_a_text_file_can_be_compared_with_a_run(tmp_path: Path, runs: tuple[str, str]) -> None:
    text_file = write(tmp_path / "a.txt", ["یک", "دو", "سه"])
    ((run, text),) = read_systems([runs[1], text_file])
    assert text.text == run.text
    assert text.hypotheses == ("یک", "دو", "سه")


def test_a_text_file_needs_the_name_of_its_test_set_if_the_run_has_several(
    tmp_path: Path, runs: tuple[str, str]
) -> None:
    text_file = write(tmp_path / "a.txt", ["یک", "دو", "سه"])
    with pytest.raises(InputError, match=r"several test sets \(held, other\); select the one .* --test-set"):
        read_systems([runs[0], text_file])
    ((run, _),) = read_systems([runs[0], text_file], test_sets=["other"])
    assert run.hypotheses == ("دوم",) * 3


def test_persian_is_the_target_language_if_a_reference_is_persian() -> None:
    assert languages_of(["OK", "بله"]) == (ENGLISH, PERSIAN)


def test_persian_is_the_source_language_if_no_reference_is_persian() -> None:
    assert languages_of(["OK", "Yes"]) == (PERSIAN, ENGLISH)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("یک\nدو\n".encode(), r"a\.txt has 2 lines, .*news\.en 3: line N must be"),
        (b"one\ntw\xff\nthree\n", r"a\.txt, line 2: not UTF-8; "),
        (None, r"a\.txt does not exist; give run folders"),
    ],
)
def test_unusable_text_files_are_refused_with_the_reason(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "a.txt").write_bytes(content)
    source = write(tmp_path / "news.en", SOURCES)
    reference = write(tmp_path / "news.fa", REFERENCES)
    with pytest.raises(TranslatorError, match=message):
        read_systems([reference, str(tmp_path / "a.txt")], source=source, references=[reference])


def test_text_files_require_both_source_and_reference(tmp_path: Path) -> None:
    text = write(tmp_path / "a.txt", REFERENCES)
    with pytest.raises(InputError, match=r"a\.txt is a text file: also give --source FILE and --reference FILE"):
        read_systems([text, text])
    with pytest.raises(InputError, match="text files need both"):
        read_systems([text, text], source=text)


def test_a_translation_longer_than_a_mebibyte_is_refused_with_its_line(files: TextFiles) -> None:
    too_long = "نه " * 300_000  # two bytes a letter
    write(Path(files.partial), [REFERENCES[0], too_long, REFERENCES[2]])
    with pytest.raises(InputError, match=r"partial.txt, line 2: longer than 1 MiB"):
        read_systems([files.perfect, files.partial], source=files.source, references=[files.reference])
