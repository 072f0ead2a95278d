"""The tables of the report: scores, systems, parts, comparisons, findings."""

from evaluation.report.scored_sets import scored_set

from translator.evaluation.comparison import compare_systems, distinct_labels
from translator.evaluation.diagnosis import diagnose
from translator.evaluation.report.comparisons import comparison_parts
from translator.evaluation.report.findings import finding_rows, not_looked_for
from translator.evaluation.report.scores import score_tables
from translator.evaluation.report.sentences import sentence_set
from translator.evaluation.report.slice_tables import slice_tables
from translator.evaluation.report.systems import systems
from translator.evaluation.slices import Slice

GOOD = ("در باز است.", "دو عمو دارید.", "باران می\u200cبارد.")


def test_systems_are_told_apart_by_what_differs() -> None:
    sets = [scored_set(), scored_set(checkpoint="step-000020"), scored_set(system="other", test_set="more")]
    labels = list(distinct_labels(sets))
    assert labels == ["run step-000010", "run step-000020", "other"]
    assert [(one.label, list(one.test_sets)) for one in systems(sets, labels)][2] == ("other", ["more"])
    greedy = [scored_set(), scored_set(search="greedy"), scored_set(test_set="more")]
    assert distinct_labels(greedy) == ("run beam-5", "run greedy", "run beam-5")


def test_two_runs_of_one_name_share_no_cell() -> None:
    """Each has two test sets, one system after the other."""

    def part(value: float) -> list[Slice]:
        return [Slice("small", "step", "beam-5", "length", "short", 2, {"bleu": value})]

    worse = ("نه", "نه", "نه")
    sets = [scored_set(GOOD), scored_set(GOOD, test_set="more"), scored_set(worse), scored_set(worse, test_set="more")]
    labels = distinct_labels(sets)
    assert labels == ("run", "run", "run (2)", "run (2)")
    assert [(one.label, list(one.test_sets)) for one in systems(sets, labels)] == [
        ("run", ["small", "more"]),
        ("run (2)", ["small", "more"]),
    ]
    for table in score_tables(sets, labels):
        chrf = [row for row in table.rows if row.metric == "chrF"]
        assert [row.system for row in chrf] == ["run", "run (2)"]
        assert chrf[0].scores[0] != chrf[1].scores[0]
    (parts,) = slice_tables(sets, labels, [part(1.0), [], part(2.0), []])
    assert parts.columns == [("BLEU 13a", "run"), ("BLEU 13a", "run (2)")]
    assert [row.scores for row in parts.rows] == [[1.0, 2.0]]


def test_a_score_table_has_each_metric_of_each_system() -> None:
    sets = [scored_set(), scored_set(GOOD, system="other")]
    (table,) = score_tables(sets, ["run", "other"])
    assert [(row.metric, row.first, row.systems, row.system) for row in table.rows] == [
        ("BLEU 13a", True, 2, "run"),
        ("BLEU 13a", False, 2, "other"),
        ("chrF", True, 2, "run"),
        ("chrF", False, 2, "other"),
    ]
    best = table.rows[3].scores[0]
    assert best is not None
    assert best.shown == "100.00"
    assert table.variants == ["raw"]
    assert [metric for metric, _ in table.signatures] == ["BLEU 13a", "chrF"]


def test_parts_stand_beside_each_other() -> None:
    def part(name: str, value: float) -> Slice:
        return Slice("small", "step", "beam-5", "length", name, 2, {"bleu": value})

    sets = [scored_set(), scored_set(system="other"), scored_set(test_set="more")]
    parts = [[part("short", 1.0), part("long", 2.0)], [part("short", 3.0)], []]
    (table,) = slice_tables(sets, ["run", "other", "run"], parts)
    assert table.columns == [("BLEU 13a", "run"), ("BLEU 13a", "other")]
    assert [(row.part, row.first, row.parts, row.scores) for row in table.rows] == [
        ("short", True, 2, [1.0, 3.0]),
        ("long", False, 2, [2.0, None]),
    ]


def test_a_comparison_leads_to_the_sentences_of_the_page() -> None:
    sets = [scored_set(test_set="more"), scored_set(), scored_set(GOOD, system="other")]
    comparison = compare_systems(sets[1:], metrics=("chrf",), samples=20, trials=20)
    (part,) = comparison_parts([comparison], sets, ["run", "run", "other"])
    assert (part.baseline, part.beside[0].system, part.beside[0].set_number) == ("run", "other", 3)
    assert [len(row.p_values) for row in part.scores] == [2, 2]
    assert part.scores[0].difference == ""
    assert part.scores[1].difference.startswith("+")
    (elsewhere,) = comparison_parts([comparison], sets[:1], ["run"])
    assert elsewhere.beside[0].set_number is None


def test_findings_stand_beside_each_other() -> None:
    rows = finding_rows([diagnose(scored_set()), None])
    latin = next(row for row in rows if row.name == "latin_words")
    assert latin.shown_name == "latin words"
    assert latin.found[0] is not None
    assert list(latin.found[0].sentences) == [3]
    assert latin.found[1] is None
    assert {name for name, _ in not_looked_for([diagnose(scored_set())])} >= {"search errors", "unfinished"}


def test_a_sentence_is_beside_its_nearest_reference() -> None:
    references = [("در بسته است.", "در باز بود."), ("x", "y"), ("z", "w")]
    one = sentence_set(scored_set(["در باز است", "y", "q"], references=references), "run")
    assert one.rows[0].reference.head == ("در ", "بسته", " است", ".")
    assert one.rows[0].other_references[0].head == ("در باز بود.",)
    assert one.rows[1].chrf == 100
    assert one.rows[1].ratio == 1
    assert [row.words for row in one.rows] == [3, 1, 1]
