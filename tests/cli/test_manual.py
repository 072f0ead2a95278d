"""Every verb explains itself: what it does, what it takes, an example that can be typed, and how it ends."""

import argparse
import shlex

import pytest

from translator.cli import parser
from translator.cli.manual import EXAMPLES, verbs_of

VERBS = dict(verbs_of(parser()))
LEAVES = [name for name in VERBS if not any(other.startswith(f"{name} ") for other in VERBS)]


def test_there_is_no_example_of_what_is_no_verb() -> None:
    assert EXAMPLES.keys() <= VERBS.keys()


@pytest.mark.parametrize("name", LEAVES)
def test_every_verb_has_a_summary_and_an_example(name: str) -> None:
    shown = VERBS[name].format_help()
    assert VERBS[name].description
    assert f"\n  translator {name}" in shown


@pytest.mark.parametrize("command", [command for commands in EXAMPLES.values() for command in commands])
def test_every_example_can_be_typed(command: str) -> None:
    program, *arguments = shlex.split(command.partition(" < ")[0].partition(" > ")[0])
    assert program == "translator"
    assert isinstance(parser().parse_args(arguments), argparse.Namespace)


@pytest.mark.parametrize("name", ["", *VERBS])
def test_every_argument_is_explained(name: str) -> None:
    whole = VERBS[name] if name else parser()
    silent = [
        action.dest for action in whole._actions if not action.help and action.metavar not in ("VERB", "QUESTION")
    ]
    assert [dest for dest in silent if not dest.startswith("==")] == []


def test_the_exit_codes_stand_in_the_help() -> None:
    shown = parser().format_help()
    assert "exit codes:\n  0    done\n  1    a bug" in shown
    for code in ("2", "129", "130", "143"):
        assert code in shown.partition("exit codes:")[2]
    assert "NO_COLOR" in shown


def test_long_sentences_are_filled_and_examples_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = parser().format_help().splitlines()
    assert '  translator translate --run runs/sample "The children are at school."' in lines
    train = VERBS["compare"].format_help().splitlines()
    assert all(len(line) <= 60 for line in train if not line.startswith("  "))
