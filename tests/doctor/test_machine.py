"""Cores, memory and large pages, as the system tells them."""

import pytest

from translator.doctor import machine
from translator.doctor.machine import cores, large_pages, memory

GIB = 1 << 30


def table(total: int, free: int) -> str:
    """Return what /proc/meminfo would say, of gibibytes."""
    return f"MemTotal:       {total * 2**20} kB\nMemFree:  1 kB\nMemAvailable:   {free * 2**20} kB\n"


@pytest.mark.parametrize(
    ("free", "limit", "verdict", "found"),
    [
        (8, None, "ok", "16.0 GiB, 8.0 GiB of it free"),
        (1, None, "note", "16.0 GiB, 1.0 GiB of it free"),
        (8, 4 * GIB, "ok", "16.0 GiB, 8.0 GiB of it free; this process may use 4.0 GiB"),
        (8, GIB, "note", "16.0 GiB, 8.0 GiB of it free; this process may use 1.0 GiB"),
        (8, 64 * GIB, "ok", "16.0 GiB, 8.0 GiB of it free"),
    ],
)
def test_memory(free: int, limit: int | None, verdict: str, found: str) -> None:
    finding = memory(table(16, free), limit)
    assert (finding.verdict, finding.found) == (verdict, found)
    assert bool(finding.advice) == (verdict == "note")


def test_a_system_that_does_not_tell_its_memory() -> None:
    assert memory("", None).verdict == "ok"


def test_a_share_of_the_cores_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "available_cores", lambda: 8)
    monkeypatch.setattr(machine, "cpu_limit", lambda: 2.5)
    finding = cores()
    assert (finding.verdict, finding.found.partition(", ")[2]) == ("note", "for 2.5 cores' worth of time")
    assert "--set run.threads=2" in finding.advice
    monkeypatch.setattr(machine, "cpu_limit", lambda: 8.0)
    assert cores().verdict == "ok"


@pytest.mark.parametrize(
    ("setting", "verdict"), [("always [madvise] never", "ok"), ("always madvise [never]", "note"), ("", "ok")]
)
def test_large_pages(setting: str, verdict: str) -> None:
    assert large_pages(setting).verdict == verdict
