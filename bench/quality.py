"""Our recipe compared with eole and Hugging Face Marian: equal text, subwords and minutes of training.

It takes hours, and can be stopped at any time: the same command resumes without repeating finished parts.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.experiments import read_yaml
from bench.options import FailedError, Options
from bench.quality_contestants import Contestant, contestants
from bench.quality_text import Plan, by_set, contest_text
from bench.scores import METRICS, NOTE, compare_systems, markdown_table, mean_score
from translator.errors import RunError
from translator.run.files import hold_folder, write_json, write_text

PLAN: Final = "bench/quality.yaml"
SHOWN: Final = 3  # sentences shown of each set


def bench(options: Options) -> Iterator[str]:
    """Train, choose and translate all unfinished parts, and yield the tables, which are also in results.md.

    Raises:
        ConfigError: the plan is invalid.
        RunError: the folder belongs to another plan.
        FailedError: a contestant failed; the others were completed.
    """
    plan = read_yaml(Path(options.config or PLAN), Plan)
    constructors = contestants(plan)
    folder = Path(plan.directory)
    settings = [plan.model_dump(mode="json"), plan.config().model_dump(mode="json")]
    settings = json.loads(json.dumps(settings))  # as they would be read from a file
    failed = []
    folder.mkdir(parents=True, exist_ok=True)
    with hold_folder(folder):
        if finished_part(folder / "plan.json", lambda: settings) != settings:
            raise RunError(f"{folder} belongs to another plan or recipe; change `directory`")
        text = contest_text(plan)
        names = [] if options.table else options.chosen(constructors)
        for name in names:
            try:
                carry_out(constructors[name](plan, text, folder / name))
            except RunError as error:
                failed.append(name)
                print(f"bench: {name}: {error}", file=sys.stderr)
        yield from write_tables(plan, text)
    if failed:
        raise FailedError(f"failed: {', '.join(failed)}")


def finished_part(path: Path, make: Callable[[], Any]) -> Any:
    """Return the JSON of a finished part, or run the part and save its result."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, make())
    return json.loads(path.read_text(encoding="utf-8"))


def carry_out(contestant: Contestant) -> None:
    """Train a contestant, choose checkpoint and length penalty, and translate the test text; errors as `train`."""
    folder = contestant.folder
    trained = finished_part(folder / "trained.json", contestant.train)
    print(f"bench: {folder.name}: trained for {trained['seconds'] / 60:.1f} minutes", file=sys.stderr, flush=True)
    choice = finished_part(folder / "choice.json", lambda: choose(contestant, trained["candidates"]))

    def translate_test() -> dict[str, str]:
        output = folder / "test.txt"
        output.unlink(missing_ok=True)
        contestant.translate(choice["checkpoint"], choice["length_penalty"], "test", output)
        by_set(contestant.text, "test", output)
        return {"translations": str(output)}

    finished_part(folder / "translated.json", translate_test)


def choose(contestant: Contestant, candidates: Sequence[str]) -> dict[str, Any]:
    """Return the best checkpoint on the validation text, and the best length penalty for it.

    Checkpoints are compared with the penalty nearest to 1. All attempts are saved under `tried`.
    """
    text = contestant.text
    penalties = contestant.plan.length_penalties
    references = list(by_set(text, "choice", text / "choice.fa").values())
    scores: dict[tuple[str, float], float] = {}  # of checkpoint and penalty

    def score(checkpoint: str, penalty: float) -> float:
        if (checkpoint, penalty) not in scores:
            output = contestant.folder / "choice" / f"{checkpoint}.{penalty:g}.txt"
            output.parent.mkdir(parents=True, exist_ok=True)
            output.unlink(missing_ok=True)
            contestant.translate(checkpoint, penalty, "choice", output)
            translations = list(by_set(text, "choice", output).values())
            scores[checkpoint, penalty] = mean_score(translations, references)
        return scores[checkpoint, penalty]

    neutral_penalty = min(penalties, key=lambda penalty: abs(penalty - 1))
    best_checkpoint = max(candidates, key=lambda checkpoint: score(checkpoint, neutral_penalty))
    best_penalty = max(penalties, key=lambda penalty: score(best_checkpoint, penalty))
    return {
        "checkpoint": best_checkpoint,
        "length_penalty": best_penalty,
        "tried": [[checkpoint, penalty, value] for (checkpoint, penalty), value in scores.items()],
    }


def write_tables(plan: Plan, text: Path) -> list[str]:
    """Return the tables of all finished contestants, ours first, and write them to results.md."""
    place = Path(plan.directory)
    folders = [place / name for name in contestants(plan) if (place / name / "translated.json").exists()]
    if not folders:
        return ["No contestant is finished yet."]
    references = by_set(text, "test", text / "test.fa")
    sources = by_set(text, "test", text / "test.en")
    translations = {folder.name: by_set(text, "test", folder / "test.txt") for folder in folders}

    # 1. What each contestant did in its time.
    efforts = [_effort_row(folder, translations[folder.name]) for folder in folders]

    # 2. Scores and a few sentences of each test set.
    scores: list[list[str]] = []
    examples: list[list[str]] = []
    signatures: list[str] = []
    for name, lines in references.items():
        systems = {system: translations_of_set[name] for system, translations_of_set in translations.items()}
        cells, signatures = compare_systems(systems, lines, plan.bootstrap_samples)
        for system in systems:
            scores.append([name, f"{len(lines):,}", system, *cells[system]])
        spacing = max(1, len(lines) // SHOWN)
        for row in range(0, len(lines), spacing)[:SHOWN]:
            system_lines = [system_translations[row] for system_translations in systems.values()]
            examples.append([name, sources[name][row], lines[row], *system_lines])

    # 3. The page.
    effort_header = [
        *("contestant", "weights", "minutes", "steps", "target tokens", "tokens/s"),
        *("checkpoint, penalty", "empty translations"),
    ]
    report = [
        *markdown_table(effort_header, efforts),
        "",
        *markdown_table(["test set", "sentences", "contestant", *METRICS], scores),
    ]
    if len(folders) > 1:
        report += ["", NOTE]
    report += [f"`{signature}`" for signature in signatures]
    report += ["", *markdown_table(["test set", "English", "reference", *translations], examples)]
    write_text(place / "results.md", "\n".join(report) + "\n")
    return report


def _effort_row(folder: Path, translations: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a row on the training of the contestant in `folder` and its translations of each test set."""
    trained = json.loads((folder / "trained.json").read_text("utf-8"))
    choice = json.loads((folder / "choice.json").read_text("utf-8"))
    empty_lines = 0
    for lines in translations.values():
        empty_lines += sum(not line.strip() for line in lines)
    return [
        folder.name,
        f"{trained['weights'] / 1e6:.2f}M",
        f"{trained['seconds'] / 60:.1f}",
        f"{trained['steps']:,}",
        f"{trained['target_tokens']:,}",
        f"{trained['target_tokens'] / trained['seconds']:,.0f}",
        f"{choice['checkpoint']}, {choice['length_penalty']:g}",
        str(empty_lines),
    ]
