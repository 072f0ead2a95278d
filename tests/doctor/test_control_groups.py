"""Limits of control groups, read from folders as the system shows them."""

from pathlib import Path

import pytest

from translator.doctor.control_groups import cpu_limit, memory_limit


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    (tmp_path / "membership").write_text("0::/a/b\n", encoding="ascii")
    (tmp_path / "a" / "b").mkdir(parents=True)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="ascii")


def test_the_tightest_limit_of_all_groups_around_holds(groups: Path) -> None:
    membership = groups / "membership"
    assert memory_limit(groups, membership) is None
    write(groups / "a" / "b" / "memory.max", "max\n")
    assert memory_limit(groups, membership) is None
    write(groups / "a" / "memory.max", "4294967296\n")
    assert memory_limit(groups, membership) == 4 << 30
    write(groups / "a" / "b" / "memory.max", "1073741824\n")
    assert memory_limit(groups, membership) == 1 << 30
    write(groups / "a" / "b" / "cpu.max", "150000 100000\n")
    assert cpu_limit(groups, membership) == 1.5
    write(groups / "a" / "b" / "cpu.max", "max 100000\n")
    assert cpu_limit(groups, membership) is None


def test_the_older_version_has_a_folder_for_each_kind(groups: Path) -> None:
    membership = groups / "old"
    write(membership, "4:memory:/box\n3:cpu,cpuacct:/box\n1:name=systemd:/\n")
    write(groups / "memory" / "memory.limit_in_bytes", "9223372036854771712\n")
    assert memory_limit(groups, membership) is None
    write(groups / "memory" / "box" / "memory.limit_in_bytes", "2147483648\n")
    assert memory_limit(groups, membership) == 2 << 30
    write(groups / "cpu,cpuacct" / "cpu.cfs_quota_us", "-1\n")
    write(groups / "cpu,cpuacct" / "cpu.cfs_period_us", "100000\n")
    assert cpu_limit(groups, membership) is None
    write(groups / "cpu,cpuacct" / "cpu.cfs_quota_us", "50000\n")
    assert cpu_limit(groups, membership) == 0.5


def test_a_container_sees_only_the_top_of_its_group(groups: Path) -> None:
    write(groups / "membership", "0::/host/path/that/is/not/here\n")
    write(groups / "memory.max", "536870912\n")
    assert memory_limit(groups, groups / "membership") == 512 << 20


def test_a_system_without_groups_has_no_limit(tmp_path: Path) -> None:
    assert memory_limit(tmp_path, tmp_path / "none") is None
    assert cpu_limit(tmp_path, tmp_path / "none") is None
