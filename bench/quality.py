"""Our recipe compared with eole and Hugging Face Marian: equal text, subwords and minutes of training.

It takes hours, and can be stopped at any time: the same command resumes without repeating finished parts.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import sacrebleu

from bench.experiments import read_yaml
from bench.options import FailedError, Options, markdown_table
from bench.quality_contestants import Contestant, contestants
from bench.quality_text import Plan, by_set, contest_text, write_lines
from translator.errors import RunError
from translator.run.files import hold_folder, write_json, write_text

PLAN: Final = "bench/quality.yaml"


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
        finished = [name for name in constructors if (folder / name / "test.txt").exists()]
        if finished:
            report = [*effort_table(folder, finished), *score_tables(plan, text, finished)]
            write_text(folder / "results.md", "\n".join(report) + "\n")
            yield from report
        else:
            yield "No contestant is finished yet."
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
    translations_of(contestant, choice["checkpoint"], choice["length_penalty"], "test", folder / "test.txt")


def translations_of(
    contestant: Contestant, checkpoint: str, penalty: float, split: str, output: Path
) -> dict[str, list[str]]:
    """Return the translations of a split by source, from the file `output` if it is there; errors as `train`."""
    if not output.exists():
        output.parent.mkdir(parents=True, exist_ok=True)
        unfinished = output.with_name(f"unfinished-{output.name}")
        unfinished.unlink(missing_ok=True)
        contestant.translate(checkpoint, penalty, split, unfinished)
        by_set(contestant.text, split, unfinished)
        unfinished.rename(output)
    return by_set(contestant.text, split, output)


def choose(contestant: Contestant, candidates: Sequence[str]) -> dict[str, Any]:
    """Return the best checkpoint on the validation text, and the best length penalty for it.

    Checkpoints are compared with the penalty nearest to 1. All attempts are saved under `tried`.
    """
    text = contestant.text
    penalties = contestant.plan.length_penalties
    references = by_set(text, "choice", text / "choice.fa")
    scores: dict[tuple[str, float], float] = {}  # of checkpoint and penalty

    def score(checkpoint: str, penalty: float) -> float:
        if (checkpoint, penalty) not in scores:
            output = contestant.folder / "choice" / f"{checkpoint}.{penalty:g}.txt"
            translations = translations_of(contestant, checkpoint, penalty, "choice", output)
            scores[checkpoint, penalty] = statistics.fmean(
                mean_score(translations[name], references[name]) for name in references
            )
        return scores[checkpoint, penalty]

    neutral_penalty = min(penalties, key=lambda penalty: abs(penalty - 1))
    best_checkpoint = max(candidates, key=lambda checkpoint: score(checkpoint, neutral_penalty))
    best_penalty = max(penalties, key=lambda penalty: score(best_checkpoint, penalty))
    return {
        "checkpoint": best_checkpoint,
        "length_penalty": best_penalty,
        "tried": [[checkpoint, penalty, value] for (checkpoint, penalty), value in scores.items()],
    }


def mean_score(translations: Sequence[str], references: Sequence[str]) -> float:
    """Return the mean of BLEU and chrF.

    chrF alone rewards length: it prefers length penalties with some overlong hypotheses, which BLEU penalizes.
    """
    bleu = sacrebleu.corpus_bleu(translations, [references], force=True)
    chrf = sacrebleu.corpus_chrf(translations, [references])
    return (bleu.score + chrf.score) / 2


def effort_table(folder: Path, names: Sequence[str]) -> list[str]:
    """Return a table of what each contestant did in its time, and what was chosen."""
    rows = []
    for name in names:
        trained = json.loads((folder / name / "trained.json").read_text("utf-8"))
        choice = json.loads((folder / name / "choice.json").read_text("utf-8"))
        rows.append(
            [
                name,
                f"{trained['weights'] / 1e6:.2f}M",
                f"{trained['seconds'] / 60:.1f}",
                f"{trained['steps']:,}",
                f"{trained['target_tokens']:,}",
                f"{trained['target_tokens'] / trained['seconds']:,.0f}",
                f"{choice['checkpoint']}, {choice['length_penalty']:g}",
            ]
        )
    header = ["contestant", "weights", "minutes", "steps", "target tokens", "tokens/s", "checkpoint, penalty"]
    return markdown_table(header, rows)


def score_tables(plan: Plan, text: Path, names: Sequence[str]) -> Iterator[str]:
    """Yield sacreBLEU's report on each test set: scores, their signatures, and the significance of differences."""
    # 1. The files that sacreBLEU reads, with the translations of each test set.
    scored = Path(plan.directory) / "scored"
    files = {"reference": text / "test.fa"}
    files |= {name: Path(plan.directory) / name / "test.txt" for name in names}
    sets: list[str] = []
    for name, file in files.items():
        lines_of_set = by_set(text, "test", file)
        sets = list(lines_of_set)
        for test_set, lines in lines_of_set.items():
            write_lines(scored / test_set / name, lines)

    # 2. Its reports; a contestant alone has no differences.
    options = ["--metrics", "bleu", "chrf", "--format", "text", "--width", "2", "--no-color"]
    if len(names) > 1:
        options.append("--paired-bs")
    for test_set in sets:
        command = [sys.executable, "-m", "sacrebleu", "reference", "--input", *names, *options]
        ended = subprocess.run(command, cwd=scored / test_set, check=True, stdout=subprocess.PIPE, text=True)
        yield f"\n{test_set}:\n\n```text\n{ended.stdout.rstrip()}\n```"
