"""The benchmark of planning in small."""

from pathlib import Path

from bench.generated import GeneratedData, write_tokens
from bench.planning import ROW_LENGTH, ROWS, rank_of
from translator.data.machine_folder import MachineFolder


def test_a_rank_measures_its_memory_and_its_time(tmp_path: Path) -> None:
    write_tokens(tmp_path, 2_000, 100, ROW_LENGTH)
    data = GeneratedData(tmp_path, 2_000, rows=ROWS, row_length=ROW_LENGTH)
    answer = rank_of(data, MachineFolder(tmp_path))["plan"]()
    assert answer["peak_mib"] >= answer["mib"]
    assert answer["seconds"] > 0
