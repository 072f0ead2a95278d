"""A model keeps the rules of its normalizer: a mended rule changes new data, and no model that is trained already."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.tiny_runs import run
from translator.corpus.normalizer.normalizer import CURRENT_RULES, NORMALIZER_VERSION
from translator.corpus.normalizer.normalizer_file import normalizer_for, read_rules
from translator.corpus.normalizer.rules import NormalizerRules, Rewriting, Row, Rule, Work
from translator.corpus.prepare import prepare_corpus
from translator.errors import RunError
from translator.evaluation import System, evaluate_systems
from translator.evaluation.results import saved_scores
from translator.inference.translator import Translator
from translator.run.folder import RunFolder
from translator.run.records import sign


def mended() -> NormalizerRules:
    """Return the current rules without that for orthography, and with one more, which writes every `a` as `b`."""
    work = Work(text=(Rewriting(rows=(Row(contains="a", pattern="a", replacement="b"),)),))
    rules = [rule for rule in CURRENT_RULES.rules if rule.key != "orthography"]
    rules.append(Rule(key="letters", english=work, persian=work))
    return replace(CURRENT_RULES, version=NORMALIZER_VERSION + 1, rules=tuple(rules))


@pytest.fixture
def after_mending(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("normalizer.normalizer", "normalizer.normalizer_file", "prepare"):
        monkeypatch.setattr(f"translator.corpus.{module}.CURRENT_RULES", mended())


def test_a_corpus_is_prepared_with_the_rules_of_its_model_or_the_current_ones(tiny: Any, after_mending: None) -> None:
    for rules, has_letter in ((CURRENT_RULES, True), (None, False)):
        corpus = prepare_corpus(tiny().corpus, rules=rules)
        assert ("a" in " ".join(corpus.lines("train", "toy", "en"))) is has_letter


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_a_trained_run_translates_with_its_own_rules(engine: str, random_run: Path, after_mending: None) -> None:
    normalizer = Translator.load(random_run, engine=engine).normalizer
    assert normalizer.source("abc") == "abc"
    assert normalizer.unify_orthography("می روم") == "می\u200cروم"


def test_a_trained_run_is_scored_as_before_a_rule_was_mended(trained: Path, after_mending: None) -> None:
    before = saved_scores(RunFolder(trained).evaluation_folder)
    assert evaluate_systems([System((RunFolder(trained),))]).scores == before


def test_a_trained_run_resumes_with_its_own_rules(tiny: Any, trained: Path, after_mending: None) -> None:
    outcome = run(tiny("training.max_steps=14"))
    assert outcome.progress.step == 14
    assert read_rules(outcome.run.normalizer_file) == CURRENT_RULES


def test_a_run_with_the_subword_models_of_another_has_its_rules_too(
    tiny: Any, random_run: Path, after_mending: None
) -> None:
    assert normalizer_for(tiny(f"subword.models_from={random_run}")).rules == CURRENT_RULES
    assert normalizer_for(tiny()).rules == mended()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"format": 1', '"format": 2', "format"),
        ("repair_decoding-1", "repair_decoding-9", "the rule mojibake names the unknown function repair_decoding-9"),
    ],
)
def test_rules_of_another_version_are_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    values = json.loads(CURRENT_RULES.to_json().replace(old, new))
    del values["own_sha256"]
    file = tmp_path / "normalizer.json"
    file.write_text(json.dumps(sign(values)), encoding="utf-8")
    with pytest.raises(RunError, match=rf"normalizer\.json is damaged, or of another version .*\(.*{reason}"):
        read_rules(file)
