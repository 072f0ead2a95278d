"""A model keeps the rules of its normalizer: a mended rule changes new data, and no model that is trained already."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.tiny_runs import run
from translator.corpus.normalizer.normalizer import CURRENT_RULES, NORMALIZER_VERSION
from translator.corpus.normalizer.normalizer_file import normalizer_for, read_rules
from translator.corpus.normalizer.rules import NormalizerRules, Rewriting, Row, Work
from translator.corpus.prepare import prepare_corpus
from translator.data import DataHandler
from translator.errors import RunError
from translator.evaluation import evaluate_run
from translator.evaluation.results import saved_scores
from translator.inference.translator import Translator
from translator.run.folder import RunFolder
from translator.run.records import sign

TEXTS = ["abcde", "x ab", "zyx a"]
Change = Callable[[dict[str, Any]], None]


def mended() -> NormalizerRules:
    """Return the current rules, but with one row more, which writes every `a` as `b`."""
    rewriting = Rewriting(rows=(Row(contains="a", pattern="a", replacement="b"),))

    def with_rewriting(work: Work) -> Work:
        return replace(work, text=(*work.text, rewriting))

    rules = []
    for rule in CURRENT_RULES.rules:
        if rule.key == "spaces":
            rule = replace(rule, english=with_rewriting(rule.english), persian=with_rewriting(rule.persian))
        rules.append(rule)
    return replace(CURRENT_RULES, version=NORMALIZER_VERSION + 1, rules=tuple(rules))


def mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.corpus.normalizer.normalizer.CURRENT_RULES", mended())


def test_a_mended_rule_changes_the_text_of_a_new_run(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mend(monkeypatch)
    data = DataHandler(tiny())
    words = " ".join(data.corpus.lines("train", "toy", "en"))
    assert "b" in words
    assert "a" not in words


def test_a_corpus_is_prepared_with_the_rules_of_its_model(tiny: Any) -> None:
    corpus = prepare_corpus(tiny().corpus, rules=mended())
    assert "a" not in " ".join(corpus.lines("train", "toy", "en"))


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_a_trained_run_translates_as_before_a_rule_was_mended(
    engine: str, random_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Translator.load(random_run, engine=engine).translate_lines(TEXTS)
    mend(monkeypatch)
    translator = Translator.load(random_run, engine=engine)
    assert translator.normalizer.source("abc") == "abc"
    assert translator.translate_lines(TEXTS) == before


def test_a_trained_run_is_scored_as_before_a_rule_was_mended(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved_scores(RunFolder(trained))
    mend(monkeypatch)
    assert evaluate_run(RunFolder(trained)).scores == before


def test_a_trained_run_resumes_with_its_own_rules(tiny: Any, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mend(monkeypatch)
    outcome = run(tiny("training.max_steps=14"))
    assert outcome.progress.step == 14
    assert read_rules(outcome.run.normalizer_file) == CURRENT_RULES


def test_a_run_with_the_subword_models_of_another_has_its_rules_too(
    tiny: Any, random_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mend(monkeypatch)
    assert normalizer_for(tiny(f"subword.models_from={random_run}")).rules == CURRENT_RULES
    assert normalizer_for(tiny()).rules == mended()


def test_the_orthography_of_translations_is_that_of_the_model(
    random_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [rule for rule in CURRENT_RULES.rules if rule.key != "orthography"]
    without_orthography = replace(CURRENT_RULES, rules=tuple(rules))
    monkeypatch.setattr("translator.corpus.normalizer.normalizer.CURRENT_RULES", without_orthography)
    assert Translator.load(random_run).normalizer.unify_orthography("می روم") == "می\u200cروم"


# --- the file ---


@pytest.fixture
def copy(random_run: Path, tmp_path: Path) -> RunFolder:
    shutil.copytree(random_run, tmp_path / "copy", symlinks=True)
    return RunFolder(tmp_path / "copy")


def rewrite(file: Path, change: Change) -> None:
    """Change the values in a file of rules, whose checksum is right again afterwards."""
    values = json.loads(file.read_text(encoding="utf-8"))
    del values["own_sha256"]
    change(values)
    file.write_text(json.dumps(sign(values), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def of_next_format(values: dict[str, Any]) -> None:
    values["format"] += 1


def with_unknown_function(values: dict[str, Any]) -> None:
    values["rules"][0]["english"]["decoding"] = "repair_decoding-9"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (of_next_format, "format"),
        (with_unknown_function, "the rule mojibake names the unknown function repair_decoding-9"),
    ],
)
def test_rules_of_another_version_are_refused(copy: RunFolder, change: Change, reason: str) -> None:
    rewrite(copy.normalizer_file, change)
    with pytest.raises(RunError, match=rf"normalizer\.json is damaged, or of another version .*\(.*{reason}"):
        Translator.load(copy.path)
