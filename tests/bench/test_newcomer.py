"""The walk of a newcomer sees what a bare machine has, and notices what ends otherwise than it should."""

import os
import sys
from pathlib import Path

import pytest

from bench import newcomer
from bench.newcomer import FOLDER, GIB, Step, format_outcomes, hour, main, walk
from translator.cli import parser

PROGRAM = """#!{python}
import os, resource, sys
print(os.getcwd(), sorted(os.environ), resource.getrlimit(resource.RLIMIT_DATA), file=open("seen", "a"))
sys.exit(int(sys.argv[1]))
"""


def test_a_walk_is_without_home_and_path(tmp_path: Path) -> None:
    program, folder = tmp_path / "bin" / "translator", tmp_path / FOLDER
    program.parent.mkdir()
    folder.mkdir()
    program.write_text(PROGRAM.format(python=sys.executable), encoding="utf-8")
    program.chmod(0o755)
    outcomes = walk(program, folder, [Step(("0",)), Step(("2",), 2), Step(("3",))], GIB)
    assert [outcome.code for outcome in outcomes] == [0, 2, 3]
    assert [outcome.good for outcome in outcomes] == [True, True, False]
    assert all(outcome.peak > 1 << 20 and outcome.seconds > 0 for outcome in outcomes)
    (seen,) = {*(folder / "seen").read_text(encoding="utf-8").splitlines()}
    place, names = str(folder), sorted({"HOME", "LC_ALL", "PATH"} | {"__PYVENV_LAUNCHER__"} & set(os.environ))
    assert seen == f"{place} {names} {(GIB, GIB)}"
    table = format_outcomes(outcomes)
    assert table.count("expected") == 1 and "expected 0" in table


def test_the_hour_is_made_of_commands_that_there_are() -> None:
    for step in hour(20):
        if step.arguments != ("--version",):
            assert parser().parse_args(step.arguments).verb


@pytest.mark.parametrize(("broken", "code"), [(None, 0), ("a.whl", 1), ("b.tar.gz", 1)])
def test_one_bad_end_with_one_distribution_is_the_verdict(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    broken: str | None,
    code: int,
) -> None:
    for name in ("a.whl", "b.tar.gz"):
        (tmp_path / name).touch()

    def install(distribution: Path, folder: Path) -> Path:
        program = folder / "bin" / "translator"
        program.parent.mkdir(parents=True)
        ends = "sys.exit(3)" if distribution.name == broken else "sys.exit(int(sys.argv[1]))"
        program.write_text(f"#!{sys.executable}\nimport sys\n{ends}\n", encoding="utf-8")
        program.chmod(0o755)
        return program

    monkeypatch.setattr(newcomer, "install", install)
    monkeypatch.setattr(newcomer, "without_network", list)
    monkeypatch.setattr(newcomer, "hour", lambda steps: (Step(("0",)), Step(("2",), 2)))
    assert main([str(tmp_path)]) == code
    told = capfd.readouterr().out
    assert "a.whl" in told and "b.tar.gz" in told and told.count("expected") == 2 * code


def test_without_distributions_it_says_how_to_build_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "make dist" in capsys.readouterr().err
