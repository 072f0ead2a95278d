"""Our recipe beside eole and Hugging Face Marian: the same text and subwords, the same minutes of training.

python -m bench.quality [--config bench/quality.yaml] [--only NAME]...      what is not finished yet, then the tables
python -m bench.quality --table                                             the tables of what is finished
python -m bench.quality --text                                              prepare, and write the text of the contest

Long. It may be stopped or killed at any time: the same command goes on; finished parts are not run again. eole runs in
the Python that QUALITY_PYTHON names. Exit codes are those of `translator`; 1 also when a contestant failed and the
others went on.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.quality_choice import choose
from bench.quality_contestant import Contestant, Execute, Trained, alone_in, emptied, execute, kept
from bench.quality_eole import Eole
from bench.quality_marian import Marian
from bench.quality_ours import Ours
from bench.quality_plan import QualityPlan, load_plan
from bench.quality_table import Finished, write_tables
from bench.quality_text import ContestText, write_contest_text
from translator.data import DataHandler
from translator.errors import Interrupted, RunError, TranslatorError

CONTESTANTS: Final[dict[str, type[Contestant]]] = {one.name: one for one in (Ours, Eole, Marian)}


def main(arguments: Sequence[str] | None = None, run: Execute = execute) -> int:
    """Do what the command line asks for and return the exit code.

    Args:
        arguments: of the command line; the process's own by default.
        run: carries out a command.
    """
    parser = argparse.ArgumentParser(prog="bench.quality", description="Train ours and its peers for the same minutes.")
    parser.add_argument("--config", default="bench/quality.yaml", metavar="FILE")
    parser.add_argument("--only", action="append", choices=list(CONTESTANTS), help="this contestant; again for another")
    parser.add_argument("--table", action="store_true", help="only the tables of what is finished")
    parser.add_argument("--text", action="store_true", help="only the text of the contest")
    options = parser.parse_args(arguments)
    try:
        plan = load_plan(Path(options.config))
        if options.text:
            _claim(plan)
            print(f"The text of the contest is in {contest_text(plan).folder}")
            return 0
        names = options.only or list(CONTESTANTS)
        code = 0
        if not options.table:
            with alone_in(plan.folder):
                code = contest(plan, names, run)
        lines = tables(plan)
    except Interrupted as stop:
        print("bench: stopped; the same command goes on", file=sys.stderr)
        return stop.exit_code
    except TranslatorError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    return code


def contest(plan: QualityPlan, names: Sequence[str], run: Execute) -> int:
    """Carry out all parts of the contestants `names` that are not finished; return 1 if one of them failed.

    Raises:
        RunError: the folder is of another plan.
        Interrupted: it was stopped.
    """
    _claim(plan)
    text = contest_text(plan)
    failed = []
    for name in names:
        try:
            carry_through(CONTESTANTS[name](plan, text, run))
        except RunError as error:
            failed.append(name)
            print(f"bench: {name}: {error}", file=sys.stderr)
    return 1 if failed else 0


def carry_through(contestant: Contestant) -> None:
    """Find the fastest way of a contestant, train it, choose, and translate the test text."""
    folder = contestant.folder

    def say(what: str) -> None:
        print(f"bench: {contestant.name}: {what}", file=sys.stderr, flush=True)

    trial = kept(folder / "trial.json", lambda: find_way(contestant))
    way, speed = trial["way"], Trained.from_json(trial["speed"])
    say(f"{way}: {speed.tokens_per_second:,.0f} target tokens/s in the trial")
    trained = Trained.from_json(kept(folder / "trained.json", lambda: contestant.train(way, speed).to_json()))
    say(f"trained for {trained.seconds / 60:.1f} minutes, {trained.steps:,} steps, {trained.weights:,} weights")
    choice = kept(folder / "choice.json", lambda: choose(contestant, trained.candidates))
    say(f"chosen: checkpoint {choice['checkpoint']}, length penalty {choice['length_penalty']:g}")

    def translate_test() -> dict[str, Any]:
        output = folder / "test.txt"
        output.unlink(missing_ok=True)
        contestant.translate(choice["checkpoint"], choice["length_penalty"], "test", output)
        return {"translations": str(output)}

    kept(folder / "translated.json", translate_test)


def find_way(contestant: Contestant) -> dict[str, Any]:
    """Return the fastest way to use the cores, its speed, and what became of the others.

    Raises:
        RunError: not one of them works.
    """
    tried: list[dict[str, Any]] = []
    best: tuple[float, dict[str, Any], Trained] | None = None
    for number, way in enumerate(contestant.ways):
        try:
            speed = contestant.try_way(way, emptied(contestant.folder / f"trial-{number}"))
        except RunError as error:
            tried.append({"way": way, "failed": str(error)})
            continue
        tried.append({"way": way, "tokens_per_second": speed.tokens_per_second})
        if best is None or speed.tokens_per_second > best[0]:
            best = speed.tokens_per_second, dict(way), speed
    if best is None:
        raise RunError(f"no way works: {'; '.join(one['failed'] for one in tried)}")
    return {"way": best[1], "speed": best[2].to_json(), "tried": tried}


def contest_text(plan: QualityPlan) -> ContestText:
    """Return the text of the contest, written once."""
    folder = plan.folder / "text"
    if folder.is_dir():
        return ContestText(folder)
    return write_contest_text(DataHandler(plan.config()), folder, plan.choice_sentences)


def tables(plan: QualityPlan) -> list[str]:
    """Write the tables of all contestants that are finished, and return their lines."""
    finished = []
    for name in CONTESTANTS:
        folder = plan.folder / name
        parts = ("trial", "trained", "choice", "translated")
        if not all((folder / f"{part}.json").is_file() for part in parts):
            continue
        trial, trained, choice, _ = (json.loads((folder / f"{part}.json").read_text("utf-8")) for part in parts)
        finished.append(Finished(name, trial["way"], Trained.from_json(trained), choice, folder / "test.txt"))
    if not finished:
        return ["No contestant is finished yet."]
    return write_tables(plan, contest_text(plan), finished)


def _claim(plan: QualityPlan) -> None:
    """Make sure that what the folder holds was made by this plan.

    Raises:
        RunError: it was made by another.
    """
    file = plan.folder / "plan.json"
    now = {"plan": plan.model_dump(mode="json"), "recipe": plan.config().model_dump(mode="json")}
    before = kept(file, lambda: now)
    if before != json.loads(json.dumps(now)):
        raise RunError(
            f"{plan.folder} holds the contest of another plan or recipe ({file}); name another `directory`, or delete "
            "this one"
        )


if __name__ == "__main__":
    sys.exit(main())
