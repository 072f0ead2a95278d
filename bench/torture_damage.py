"""Two ways in which the disk fails a run: bytes that change, and no room. Scenarios of `bench.torture`."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.torture_bits import differences
from translator.checkpoint import find_checkpoint
from translator.run_folder import RunFolder

if TYPE_CHECKING:
    from bench.torture import Workshop

HALF: Final = ("training.max_steps=36",)
"""The end of a validation, so that going on from there is what an uninterrupted run does."""
_ROOMY: Final = "size=64m"


def damaged_copies(work: "Workshop") -> None:
    """Each file of the newest checkpoint with a byte flipped, cut short, or gone: the one before it is used."""
    whole, _ = work.whole()
    half = work.course("half", HALF)
    work.failures += half.finish()
    if work.failures:
        return
    newest = find_checkpoint(RunFolder(half.run).checkpoints_folder, "last")

    def flip(file: Path) -> None:
        content = bytearray(file.read_bytes())
        content[work.chance.randrange(len(content))] ^= 1 << work.chance.randrange(8)
        file.write_bytes(content)

    def cut(file: Path) -> None:
        os.truncate(file, work.chance.randrange(file.stat().st_size))

    harms: dict[str, Callable[[Path], None]] = {"flipped": flip, "cut": cut, "gone": Path.unlink}
    for name in sorted(file.name for file in newest.iterdir()):
        for harm, harm_it in harms.items():
            course = work.course(f"{harm}-{name}", prepared=half.prepared_directory)
            shutil.copytree(half.run, course.run, symlinks=True)
            shutil.rmtree(RunFolder(course.run).evaluation_folder)  # of the first half's best checkpoint
            harm_it(RunFolder(course.run).checkpoints_folder / newest.name / name)
            work.where[f"{name} {harm}"] += 1
            complaints = course.finish()
            if not complaints and "warning" not in course.last_telling:
                complaints = [f"{course.run.name}: no warning was given"]
            work.failures += complaints or differences(course.run, whole)


def full_disk(work: "Workshop") -> None:
    """A file system too small for the run, of several sizes: one message, and with more room it ends as it should."""
    whole, _ = work.whole()
    for size in (150, 250, 350, 450, 600):  # KiB
        place = work.folder / f"disk-{size}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(place)]
        if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
            work.remarks.append("skipped: a small file system cannot be mounted here")
            return
        try:
            course = work.course(f"disk-{size}/run")
            code = course.start().wait()
            full = code == 2 and "the disk is full" in course.last_telling
            work.where["a full disk" if full else "enough room"] += 1
            if code not in (0, 2) or (code == 2 and not full):
                work.failures += course.complaints(code)
                continue
            left = [path.name for path in RunFolder(course.run).checkpoints_folder.glob(".*")]
            if left:
                work.failures.append(f"{course.run.name}: left behind {', '.join(left)}")
            subprocess.run(["mount", "-o", f"remount,{_ROOMY}", str(place)], check=True)
            complaints = course.finish()
            work.failures += complaints or differences(course.run, whole)
        finally:
            subprocess.run(["umount", str(place)], capture_output=True, check=False)
    if not work.where["a full disk"]:
        work.failures.append("no disk was small enough to fill")
