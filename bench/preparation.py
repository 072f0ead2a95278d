"""Preparation at scale: seconds of each stage and peak memory at several sizes, each in a process of its own."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from bench.large_corpus import write_large_corpus
from translator.config import Config, SubwordConfig
from translator.text_table import text_table

SIZES: Final = (250_000, 1_000_000, 4_000_000)
_LOOK_EVERY: Final = 0.1
"""Seconds between two looks at the memory."""


def bench_preparation(config: Config, sizes: tuple[int, ...] = SIZES) -> list[str]:
    """Return the lines of a report on preparing corpora of several sizes with the settings of `config`."""
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            corpus = Path(folder) / f"{size}.tsv"
            write_large_corpus(corpus, size)
            measured.append(_measure(config, corpus, Path(folder) / f"prepared-{size}"))
            corpus.unlink()
    names = [stage["name"] for stage in measured[0]["stages"]]
    header = ["pairs read", "kept", *names, "in all", "pairs/s", "peak memory"]
    rows = []
    for size, result in zip(sizes, measured, strict=True):
        seconds = [f"{stage['seconds']:.1f} s {size / stage['seconds']:,.0f}/s" for stage in result["stages"]]
        speed = f"{size / result['seconds']:,.0f}"
        memory = f"{result['peak'] / 2**20:,.0f} MiB"
        rows.append([f"{size:,}", f"{result['kept']:,}", *seconds, f"{result['seconds']:.1f} s", speed, memory])
    return ["preparation, everything made anew; memory of all processes together (PSS)", text_table(header, rows)]


def _measure(config: Config, corpus: Path, prepared: Path) -> dict[str, Any]:
    """Prepare `corpus` in another process; return its stages, seconds, pairs kept and its peak memory in bytes."""
    recipe = config.model_dump(mode="json")
    recipe["corpus"] |= {"sources": [{"name": "large", "path": str(corpus)}], "prepared_directory": str(prepared)}
    recipe["subword"] = SubwordConfig().model_dump(mode="json")  # 8,000 pieces a side, whatever the recipe has
    recipe["evaluation"]["test_sets"] = []
    command = [sys.executable, "-m", "bench.prepare_once", json.dumps(recipe)]
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        peak = 0
        while process.poll() is None:
            peak = max(peak, sum(map(_memory, _family(process.pid))))
            time.sleep(_LOOK_EVERY)
        seconds = time.perf_counter() - began
        assert process.stdout is not None
        told = process.stdout.read()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command[:3])
    return {**json.loads(told), "seconds": seconds, "peak": peak}


def _family(process: int) -> list[int]:
    """Return the process and all that it started, directly or not."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [process, *(member for child in children for member in _family(int(child)))]


def _memory(process: int) -> int:
    """Return the bytes that a process takes; what it shares with others is counted in parts."""
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:"))
