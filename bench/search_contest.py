"""The process of one contestant of the search figures: it obeys one line of JSON after the other.

`python -m bench.search_contest ENGINE FOLDER WORKERS THREADS PART PARTS`: of PARTS shares of the batches it takes one.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from bench.search_engines import Ctranslate2Engine, Engine, MarianEngine, OurEngine, batches_of, share_of
from translator.device import keep_freed_memory, use_threads


def build_engine(name: str, folder: Path, workers: int, threads: int) -> Engine:
    """Return the engine called `name`, such as `translator float32`, with `threads` threads for each of `workers`."""
    program, _, kind = name.partition(" ")
    if program == "CTranslate2":  # torch must stay idle beside it
        use_threads(1)
        return Ctranslate2Engine(folder, kind, workers, threads)
    use_threads(threads)
    if program == "transformers":
        return MarianEngine(folder)
    assert program == "translator"
    keep_freed_memory()
    return OurEngine(folder, kind)  # type: ignore[arg-type]  # the names come from `bench.search`


def obey(commands: TextIO, answers: TextIO, engine: Engine, rows: list[list[int]], part: int, parts: int) -> None:
    """Answer every line of `commands`: size of a batch, width of the beam, forced lengths or not, share of the rows."""
    for line in commands:
        command: dict[str, Any] = json.loads(line)
        chosen = rows[:: command["every"]]
        batches = share_of(batches_of(chosen, command["size"], command["forced"]), part, parts)
        tokens = engine.find(batches, command["beam"])
        answers.write(json.dumps({"sentences": sum(len(batch.rows) for batch in batches), "tokens": tokens}) + "\n")
        answers.flush()


def main() -> int:
    """Serve the parent on standard input and output."""
    # What a library prints must not get among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    name, folder = sys.argv[1], Path(sys.argv[2])
    workers, threads, part, parts = map(int, sys.argv[3:])
    rows = json.loads((folder / "rows.json").read_text(encoding="utf-8"))
    obey(sys.stdin, answers, build_engine(name, folder, workers, threads), rows, part, parts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
