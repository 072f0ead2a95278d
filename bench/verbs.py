"""Verbs killed at random, alone and two at a time, with files of the user's beside all that they write.

`fine-tune`, `distill`, `back-translate`, `evaluate`, `export` and `download` run on tiny models. After each series of
kills the same command runs to its end: its outputs must equal those of an undisturbed one, and each stranger (a file,
folder or link that no verb made) must still have its bytes.

Each command runs in a fork of this process, which has imported everything: 300 kills would take an hour otherwise.
"""

import contextlib
import http.server
import importlib
import os
import random
import re
import shutil
import signal
import socket
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from bench.forks import kill, start, wait
from bench.options import FailedError, Options

KILLS: Final = 50  # of each verb
SERIES: Final = 3  # kills before a command runs to its end, at most
TO_PERSIAN: Final = str.maketrans("abcdefghxyz", "ابپتجچحخدذر")
RECIPE: Final = """
run: {{directory: "{folder}/{direction}", seed: 1, device: cpu, threads: 1}}
corpus:
  direction: {direction}
  sources: [{{name: toy, path: "{folder}/toy.tsv"}}]
  prepared_directory: "{folder}/prepared"
  split: {{validation: 10, test: 60}}
  filters: {{max_length_ratio: null}}
subword: {{vocabulary_size: 60, model_type: char, byte_fallback: false}}
model: {{d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 32, max_positions: 64}}
batching: {{max_length: 64, tokens_per_batch: 512}}
training: {{max_steps: 4, warmup_steps: 2, validate_every: 4, checkpoint_every: 4,
  processes: 1}}
search: {{method: beam, beam_size: 2, avoid_loops: false, min_length_ratio: 0.9, max_length_ratio: 1.1}}
"""
SHORT: Final = (
    *("training.max_steps=4", "training.validate_every=2", "training.checkpoint_every=2"),
    *("training.schedule_clock=steps", "training.max_minutes=null", "training.dropout_from=0"),
    *("run.threads=1", "training.processes=1"),
)
IMPORTED: Final = (
    *("ctranslate2", "matplotlib.figure", "pooch", "requests", "sacrebleu", "tensorboard.compat.proto.event_pb2"),
    *("translator.cli.deriving", "translator.cli.small_verbs", "translator.evaluation", "translator.export.package"),
    *("translator.training.run_training", "translator.training.monitoring.monitor", "translator.inference.translator"),
)
"""Modules that the commands use, imported once."""
STRANGE: Final = bytes(range(256))
"""The content of files that no verb made."""
VOLATILE: Final = re.compile(r"^(log\.txt|run\.json|events\..*|.*\.html|doctor\.json|\.lock)$")
"""Files that differ from run to run: they hold times, versions or pictures."""
REMAINS: Final = re.compile(r"^\..*\.[0-9a-f]{8}\.(tmp|partial|replaced)$")
"""Hidden files and folders that a killed process may leave."""
CHANGING_KEYS: Final = re.compile(r'"[a-z_]*(?:seconds|starts|minutes|time|sha256|memory|identity)[a-z_]*": [^,}\n]*')
"""Values in JSON that differ from run to run."""


@dataclass(frozen=True)
class VerbCase:
    """One command, what it writes, and what its message says if it finds its work done."""

    name: str
    arguments: Callable[[Path], Sequence[str]]  # for the folder of the outputs
    outputs: tuple[str, ...]  # files and folders in that folder
    refused_when_done: str = ""  # part of the message with which a complete output is refused
    strangers_in: tuple[str, ...] = ()  # folders of outputs in which the user may keep files as well


# --- what lies in a folder ---


def strangers(place: Path, outputs: Sequence[str], elsewhere: Path) -> None:
    """Put files, folders and links that look like temporary ones into `place`, beside `outputs`."""
    place.mkdir(parents=True, exist_ok=True)
    names = [".photos.partial", "notes.partial", ".backup.replaced"]
    for output in outputs:
        names += [f".{output}.partial", f".{output}.0123abcd.partial", f".{output}.replaced", f".{output}.old.partial"]
    for name in names:
        (place / name).mkdir()
        (place / name / "picture.png").write_bytes(STRANGE)
    for output in outputs:
        (place / f".{output}.tmp").write_bytes(STRANGE)
        (place / f".{output}.abcdefgh").write_bytes(STRANGE)
        (place / f".{output}.89abcdef.partial").symlink_to(elsewhere)
        (place / f".{output}.dangling.partial").symlink_to(elsewhere / "nothing")
    (place / "my notes.txt").write_text("یادداشت\n", encoding="utf-8")


def contents(folder: Path) -> dict[str, str | bytes]:
    """Return the bytes of each file, the target of each link and the name of each folder below `folder`."""
    entries: dict[str, str | bytes] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            entries[name] = f"link to {path.readlink()}"
        elif path.is_file():
            entries[name] = path.read_bytes()
        else:
            entries[name] = "folder"
    return entries


def outcome(work: Path, case: VerbCase) -> dict[str, str | bytes]:
    """Return what a command has written, without what differs from run to run."""
    written: dict[str, str | bytes] = {}
    for output in case.outputs:
        place = work / output
        entries = contents(place) if place.is_dir() else {"": place.read_bytes()}
        for name, content in entries.items():
            parts = Path(name).parts
            if parts and (VOLATILE.match(parts[-1]) or any(REMAINS.match(part) for part in parts)):
                continue
            if name.endswith((".json", ".jsonl")) and isinstance(content, bytes):
                content = CHANGING_KEYS.sub("", content.decode("utf-8"))
            # The name of an engine's model has a hash of the checkpoint's state, and that has times.
            name = re.sub(r"(ctranslate2-step-\d+)-[0-9a-f]+", r"\1", name)
            written[f"{output}/{name}"] = content
    return written


# --- one verb ---


@dataclass
class VerbTorture:
    """The kills of one verb and their findings."""

    case: VerbCase
    folder: Path
    chance: random.Random
    elsewhere: Path
    prepare: Callable[[Path], None]  # fills the folder of the outputs with inputs
    phases: Counter[str] = field(default_factory=Counter)  # what became of the struck processes
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0  # of an undisturbed command
    expected: dict[str, str | bytes] = field(default_factory=dict)
    foreign: dict[str, str | bytes] = field(default_factory=dict)  # what the command must not touch
    foreign_elsewhere: dict[str, str | bytes] = field(default_factory=dict)
    series: int = 0

    @property
    def work(self) -> Path:
        """The folder of the outputs; each series of kills begins with a new one of the same name."""
        return self.folder / "work"

    @property
    def log(self) -> Path:
        return self.folder / f"{self.case.name}-{self.series}.log"

    def undisturbed(self) -> None:
        """Run the command twice in new folders: its outputs are the expected ones, if both times are equal."""
        for _ in range(2):
            self.begin()
            began = time.monotonic()
            self.finish()
            self.seconds = time.monotonic() - began
            if self.expected and not self.failures:
                self.compare()
            self.expected = outcome(self.work, self.case)

    def begin(self) -> None:
        """Make a new folder with inputs and strangers."""
        self.series += 1
        if self.work.exists():
            shutil.rmtree(self.work)
        self.work.mkdir(parents=True)
        self.prepare(self.work)
        prepared_outputs = {name for name in contents(self.work) if Path(name).parts[0] in self.case.outputs}
        strangers(self.work, self.case.outputs, self.elsewhere)
        for place in self.case.strangers_in:
            strangers(self.work / place, (), self.elsewhere)
        # Inputs and strangers must keep their bytes.
        everything = contents(self.work)
        self.foreign = {name: content for name, content in everything.items() if name not in prepared_outputs}
        self.foreign_elsewhere = contents(self.elsewhere)

    def strike(self) -> None:
        """Start the command, alone or twice at once, and kill a process at a random instant."""
        is_doubled = self.chance.random() < 0.5
        arguments = self.case.arguments(self.work)
        instant = time.monotonic() + self.chance.uniform(0.0, 1.1) * self.seconds * (1.5 if is_doubled else 1.0)
        processes = [start(arguments, self.log)]
        if is_doubled:
            time.sleep(self.chance.choice([0.0, self.chance.uniform(0.0, self.seconds)]))
            processes.append(start(arguments, self.log))
        time.sleep(max(0.0, instant - time.monotonic()))
        victims = [self.chance.choice(processes)] if self.chance.random() < 0.6 else processes
        for victim in victims:
            if not kill(victim):
                self.failures.append(f"{self.log}: a killed process leaves children")
        for process in processes:
            self.judge(wait(process), killed=process in victims)

    def judge(self, code: int, *, killed: bool) -> None:
        """Count the end of a process; an end other than by our kill, by success or by one message is a failure."""
        if code == -signal.SIGKILL and killed:
            self.phases["killed"] += 1
        elif code == 0:
            self.phases["finished"] += 1
        elif code == 2:
            self.phases["refused"] += 1
        else:
            self.failures.append(f"{self.log}: exit code {code}")

    def finish(self) -> None:
        """Run the command to its end, undisturbed."""
        code = wait(start(self.case.arguments(self.work), self.log))
        text = self.log.read_text(encoding="utf-8", errors="replace")
        last_line = text.strip().splitlines()[-1] if text.strip() else ""
        is_done = bool(self.case.refused_when_done) and self.case.refused_when_done in last_line
        if code != 0 and not (code == 2 and is_done):
            self.failures.append(f"{self.log}: exit code {code}: {last_line[:300]}")
        if "Traceback" in text:
            self.failures.append(f"{self.log}: a traceback")

    def compare(self) -> None:
        """Compare the outputs with the expected ones, and the strangers with themselves before."""
        written = outcome(self.work, self.case)
        for name in sorted(written.keys() | self.expected.keys()):
            if written.get(name) != self.expected.get(name):
                self.failures.append(f"{self.log}: {name} differs from the undisturbed one")
        after = contents(self.work)
        for name, content in self.foreign.items():
            if after.get(name) != content:
                self.failures.append(f"{self.log}: the stranger {name} is changed or gone")
        for name in sorted(after.keys() - self.foreign.keys()):
            self.phases["remains"] += REMAINS.match(Path(name).name) is not None
        if contents(self.elsewhere) != self.foreign_elsewhere:
            self.failures.append(f"{self.log}: files elsewhere are changed")

    def run(self, kills: int) -> None:
        """Strike until `kills` processes were killed; after each series, finish and compare."""
        self.undisturbed()
        while self.phases["killed"] < kills and not self.failures:
            self.begin()
            for _ in range(self.chance.randint(1, SERIES)):
                self.strike()
            if not self.failures:
                self.finish()
                self.compare()


# --- the verbs ---


class Slow(http.server.SimpleHTTPRequestHandler):
    """A local server that sends a file in small pieces, so that a kill strikes a download."""

    def copyfile(self, source: Any, outputfile: Any) -> None:
        with contextlib.suppress(ConnectionError):  # the client was killed
            while piece := source.read(2048):
                outputfile.write(piece)
                time.sleep(0.01)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


def serve_corpus(folder: Path) -> tuple[str, int]:
    """Serve a small corpus in a process of its own; return its address and the process id."""
    site = folder / "site"
    site.mkdir()
    english = "".join(f"line {number} {random.Random(number).random()}\n" for number in range(2000))
    with zipfile.ZipFile(site / "toy.zip", "w") as archive:
        archive.writestr("T.en-fa.en", english)
        archive.writestr("T.en-fa.fa", english)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = os.fork()
    if not process:
        os.chdir(site)
        with http.server.ThreadingHTTPServer(("127.0.0.1", port), Slow) as server:
            server.serve_forever()
        os._exit(0)
    return f"http://127.0.0.1:{port}/toy.zip", process


def offer(address: str) -> None:
    """Let `translator download mizan` fetch the small corpus."""
    from translator.corpus import public_corpora

    small_file = public_corpora.RemoteFile(address=address, name="mizan.zip")
    public_corpora.DATASETS["mizan"] = replace(public_corpora.DATASETS["mizan"], files=(small_file,))
    os.environ["no_proxy"] = "127.0.0.1"


def cases(folder: Path) -> list[VerbCase]:
    """Return the commands."""
    parent, reverse = str(folder / "en-fa"), str(folder / "fa-en")

    def fine_tune(work: Path) -> list[str]:
        output = ["--output", str(work / "tuned")]
        settings = ["--set", *SHORT, f"corpus.prepared_directory={work / 'prepared'}"]
        return ["fine-tune", "--run", parent, "--corpus", str(work / "new.tsv"), *output, *settings]

    def distill(work: Path) -> list[str]:
        sizes = ["model.d_model=8", "model.heads=2", "model.encoder_layers=1", "model.decoder_layers=1"]
        sizes += ["model.feed_forward=16", "subword.model_type=char", "subword.vocabulary_size=60"]
        sizes += ["batching.tokens_per_batch=512", "batching.max_length=64", "training.initialization=random"]
        output = ["--output", str(work / "student"), "--beam", "2"]
        settings = ["--set", *SHORT, *sizes, f"corpus.prepared_directory={work / 'prepared'}"]
        return ["distill", "--run", parent, "--monolingual", str(work / "more.en"), *output, *settings]

    def back_translate(work: Path) -> list[str]:
        inputs = ["--run", reverse, "--monolingual", str(work / "more.fa")]
        return ["back-translate", *inputs, "--output", str(work / "pairs"), "--engine", "torch"]

    def evaluate(work: Path) -> list[str]:
        return ["evaluate", "--run", str(work / "run"), "--test-set", f"other={work / 'new.tsv'}"]

    def export(work: Path) -> list[str]:
        return ["export", "--run", parent, "--to", "safetensors", str(work / "exported")]

    def download(work: Path) -> list[str]:
        return ["download", "mizan", "--folder", str(work / "corpora")]

    return [
        VerbCase("export", export, ("exported",), refused_when_done="is not empty"),
        VerbCase("download", download, ("corpora",), strangers_in=("corpora",)),
        VerbCase("evaluate", evaluate, ("run",), strangers_in=("run/evaluation",)),
        VerbCase("back-translate", back_translate, ("pairs",), strangers_in=("pairs",)),
        VerbCase("fine-tune", fine_tune, ("tuned", "tuned.yaml", "tuned.text")),
        VerbCase("distill", distill, ("student", "student.yaml", "student.text", "student-int8")),
    ]


def write_corpora(folder: Path) -> None:
    """Write a corpus of words of eight letters, and text that no model has seen."""
    letters = random.Random(1)

    def sentence(alphabet: str) -> str:
        words = ["".join(letters.choices(alphabet, k=letters.randint(3, 8))) for _ in range(3)]
        return " ".join(words)

    def pairs(texts: Sequence[str]) -> str:
        return "".join(f"{text}\t{text.translate(TO_PERSIAN)}\n" for text in texts)

    new = [sentence("abcxyz") for _ in range(60)]
    more = [sentence("abcdefgh") for _ in range(300)]
    (folder / "toy.tsv").write_text(pairs([sentence("abcdefgh") for _ in range(250)]), encoding="utf-8")
    (folder / "new.tsv").write_text(pairs(new), encoding="utf-8")
    (folder / "more.en").write_text("".join(f"{text}\n" for text in more), encoding="utf-8")
    (folder / "more.fa").write_text("".join(f"{text.translate(TO_PERSIAN)}\n" for text in more), encoding="utf-8")


def bench(options: Options) -> Iterator[str]:
    """Kill each verb and yield a line on it; the folders of failed verbs are kept.

    Raises:
        ConfigError: a verb is unknown.
        FailedError: a verb failed.
    """
    folder = Path(tempfile.mkdtemp(prefix="verbs-")).resolve()
    write_corpora(folder)
    for module in IMPORTED:
        importlib.import_module(module)
    for direction in ("en-fa", "fa-en"):
        recipe = folder / f"{direction}.yaml"
        recipe.write_text(RECIPE.format(folder=folder, direction=direction), encoding="utf-8")
        log = folder / f"{direction}.log"
        if code := wait(start(["train", "--config", str(recipe)], log)):
            raise FailedError(f"training ended with exit code {code}: {log.read_text(encoding='utf-8')[-500:]}")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious.txt").write_text("precious\n", encoding="utf-8")
    address, server = serve_corpus(folder)
    offer(address)

    def prepare(work: Path) -> None:
        for name in ("new.tsv", "more.en", "more.fa"):
            shutil.copy(folder / name, work / name)
        shutil.copytree(folder / "en-fa", work / "run", symlinks=True)

    failed = []
    all_cases = {case.name: case for case in cases(folder)}
    try:
        for name in options.chosen(all_cases):
            began = time.monotonic()
            chance = random.Random(f"{options.seed} {name}")
            torture = VerbTorture(all_cases[name], folder / name, chance, elsewhere, prepare)
            torture.run(options.kills or KILLS)
            ends = ", ".join(f"{count} {end}" for end, count in torture.phases.most_common())
            verdict = "FAILED" if torture.failures else "PASSED"
            seconds = time.monotonic() - began
            yield f"{name}: {torture.series} series, {ends}; {torture.seconds:.1f} s alone; {seconds:.0f} s; {verdict}"
            for failure in torture.failures:
                yield f"  {failure}"
            if torture.failures:
                failed.append(name)
    finally:
        os.kill(server, signal.SIGKILL)
        wait(server)
    if failed:
        raise FailedError(f"verbs failed: {', '.join(failed)}; seed {options.seed}; logs kept in {folder}")
    shutil.rmtree(folder)
    yield f"verbs PASSED; seed {options.seed}"
