"""What is optional and missing, with the command that brings it."""

import pytest
from packaging.requirements import Requirement

from translator.doctor import extras
from translator.doctor.extras import examine_extras, examine_programs


def test_an_extra_names_what_it_lacks_and_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "extras", lambda: ["export", "serve", "bench"])
    asked = {"export": [Requirement("a>=2"), Requirement("b")], "serve": [Requirement("b")], "bench": []}
    monkeypatch.setattr(extras, "requirements", asked.__getitem__)
    monkeypatch.setattr(extras, "version_of", {"a": "1.0", "b": "1.0"}.get)
    first, second = examine_extras()
    assert (first.name, first.found, first.verdict) == ("extra export", "lacks a", "note")
    assert first.advice.endswith(" 'a>=2'")
    assert (second.name, second.verdict) == ("extra serve", "ok")


def test_programs_that_are_not_there_are_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    verdicts = {finding.name: finding.verdict for finding in examine_programs()}
    assert verdicts["COMET"] == verdicts["git"] == verdicts["Chromium"] == "note"
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    found = {finding.name: finding for finding in examine_programs()}
    assert (found["git"].verdict, found["git"].found) == ("ok", "/bin/git")
    assert "evaluation.comet_model" in found["COMET"].found


def test_outside_of_a_checkout_nothing_is_said_of_working_on_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(extras, "in_checkout", lambda: False)
    assert [finding.name for finding in examine_programs()] == ["spBLEU", "COMET"]
