"""Every command shown on a page runs; small corpora and short training replace the real ones."""

import gzip
import re
import shlex
import shutil
import subprocess
import zipfile
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pytest

from tests.fence.files import write_lines
from tests.support.doc_examples import PAGES, ROOT, commands
from tests.support.export_stand_ins import sample_pairs
from tests.support.tiny_recipe import draw_nothing
from tests.support.toy_corpora import write_pairs
from translator.cli import main

ELSEWHERE = {"bench", "check", "docs", "download", "serve", "tensorboard", "test"}
"""Targets and verbs that do not end by themselves, need a network, or run a whole suite; each has tests of its own."""
QUICK = shlex.split("""
run.threads=1 run.device=cpu model.d_model=16 model.heads=2 model.encoder_layers=1 model.decoder_layers=1
model.feed_forward=16 model.norm=post model.positions=sinusoidal
subword.model_type=char subword.vocabulary_size=90 batching.max_length=120
batching.tokens_per_batch=480 training.accumulation_steps=1
training.max_steps=2 training.validate_every=2 training.checkpoint_every=1 training.warmup_steps=1
training.validation_sentences=2 training.processes=1 training.precision=float32 training.dropout_from=0
corpus.split.validation=4 corpus.split.test=4 corpus.split.block_size=4
search.method=beam search.beam_size=3 search.min_length_ratio=0 search.max_length_ratio=0.1
training.augmentation.typos=0 training.augmentation.final_punctuation=0 subword.byte_fallback=false
evaluation.metrics=[chrf]
""")
TRAINED = [*QUICK, "search.method=greedy"]
SCORED = ["search.min_length_ratio=0", "search.max_length_ratio=0.1"]
OVERRIDES = {"prepare": QUICK, "train": TRAINED, "fine-tune": QUICK, "distill": QUICK, "evaluate": SCORED}
MESSAGES = "/usr/share/locale/fa/LC_MESSAGES"  # of the programs of this machine; a small folder replaces it


def words_of(command: list[str]) -> list[str]:
    """Return the arguments of `translator` in a shown command; for `make TARGET`, those of the command that it runs."""
    if command[0] == "translator":
        return command[1:]
    dry_run = subprocess.run(["make", "--dry-run", *command[1:]], capture_output=True, text=True, check=True)
    (line,) = re.findall(r"^'\.venv/bin/translator' (.*)", dry_run.stdout, flags=re.MULTILINE)

    # The command reads its text from the environment.
    text = ""
    for word in command:
        if word.startswith("TEXT="):
            text = word.removeprefix("TEXT=")
    return shlex.split(line.replace('"$TRANSLATE_TEXT"', shlex.quote(text)))


class SampleText:
    """Pairs of the sample, each given out once."""

    def __init__(self) -> None:
        self._pairs = iter(sample_pairs("train"))

    def table(self, path: Path, count: int) -> Path:
        """Write the next pairs as a table of two columns, and return its path."""
        return write_pairs(path, list(islice(self._pairs, count)))

    def sides(self, english: Path, persian: Path, count: int) -> tuple[Path, Path]:
        """Write the English and the Persian text of the next pairs, and return the paths."""
        sides = zip(*islice(self._pairs, count), strict=True)
        write_lines(english, next(sides))
        return english, write_lines(persian, next(sides))

    def messages(self, path: Path, count: int) -> Path:
        """Write the next pairs as messages of a program, and return the path."""
        messages = [f'msgid "{english}"\nmsgstr "{persian}"\n' for english, persian in islice(self._pairs, count)]
        return write_lines(path, [HEADER, *messages])


DOWNLOADED = "mizan tatoeba MIZAN-v1 TED2020-v1 wikimedia-v20210402 OpenSubtitles-v2018 WikiMatrix-v1 CCMatrix-v1"
HEADER = 'msgid ""\nmsgstr ""\n"Language: fa\\n"\n'  # of messages of a program
TEXTS = {
    "reviews.csv": "id,text\n1,It is good.\n2,It is late.\n",
    "film.srt": "1\n00:00:01,000 --> 00:00:02,000\nIt is good.\n",
    "app.po": f'{HEADER}\nmsgid "It is late."\nmsgstr ""\n',
    "terms.tsv": "gate\tدروازه\n",
}
"""Small files that a reader brings along."""


def fill(folder: Path) -> None:
    """Put the files that the pages name into `folder`, and the development corpora beside it."""
    text = SampleText()
    data = folder / "data"
    shared = folder.parent / "shared" / "data"
    for place in (data / "sample", data / "back-translated", shared):
        place.mkdir(parents=True)
    for name in ("configs", "bench", "Makefile", "pyproject.toml", "constraints.txt"):
        (folder / name).symlink_to(ROOT / name)

    # The sample, and the corpora that are downloaded or stand beside the checkout.
    for name, count in (("train", 150), ("validation", 20), ("test", 20)):
        text.table(data / "sample" / f"{name}.tsv", count)
    archives = [data / f"{name}.zip" for name in DOWNLOADED.split()]
    archives += [shared / f"{name}.zip" for name in ("mizan", "tatoeba", "bible.en-fa", "quran.en-fa")]
    unpacked = (folder.parent / "corpus_en.txt", folder.parent / "corpus_fa.txt")
    for archive in archives:
        with zipfile.ZipFile(archive, "w") as opened:
            for side in text.sides(*unpacked, 80):
                opened.write(side, side.name)
    for name in ("flores200/dev", "flores200/devtest", "ntrex128/test", "wmt24pp/test"):
        place = data / name
        place.parent.mkdir(exist_ok=True)
        text.sides(place.with_suffix(".en"), place.with_suffix(".fa"), 12)
    for side in (*text.sides(shared / "afec.en", shared / "afec.fa", 80), text.table(shared / "docs.tsv", 80)):
        side.with_name(f"{side.name}.gz").write_bytes(gzip.compress(side.read_bytes()))

    # What a reader brings along.
    for name, count in (("my", 80), ("test", 12), ("devtest", 12)):
        text.sides(folder / f"{name}.en", folder / f"{name}.fa", count)
    for name in ("held.tsv", "my-test.tsv"):
        text.table(folder / name, 20)
    text.sides(folder / "book.en", folder / "persian.txt", 30)
    shutil.copy(folder / "book.en", folder / "english.txt")
    (folder / "messages").mkdir()
    text.messages(folder / "messages" / "program.po", 80)
    for name, content in TEXTS.items():
        (folder / name).write_text(content, encoding="utf-8")
    text.sides(data / "back-translated" / "synthetic.en", data / "back-translated" / "synthetic.fa", 60)
    corpora = (ROOT / "docs" / "corpora.md").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^`six\.yaml`:\n\n```yaml\n(.*?)```", corpora, flags=re.MULTILINE | re.DOTALL)
    (folder / "six.yaml").write_text(recipe, encoding="utf-8")


def shown_commands() -> dict[tuple[str, ...], str]:
    """Return the commands on all pages that end by themselves, each with the page that shows it last.

    Of commands that read different runs and are otherwise equal, it has one.
    """
    shown: dict[tuple[str, ...], str] = {}
    seen = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for command in [*commands(text, "make"), *commands(text, "translator")]:
            form = re.sub(r"\bruns/[\w-]+(?=$| )", "runs/x", " ".join(command))
            if command[1] not in ELSEWHERE and (tuple(command) in shown or form not in seen):
                seen.add(form)
                shown[tuple(command)] = page.name
    return shown


def make_runs(shown: Iterable[tuple[str, ...]]) -> None:
    """Train a small run in each direction, and copy them to the places of all runs that the commands name."""
    for direction in ("en-fa", "fa-en"):
        settings = [*QUICK, f"corpus.direction={direction}", f"run.directory=trained/{direction}"]
        settings += ["training.max_steps=5", "training.validate_every=1", "training.keep_best=5"]
        assert main(["train", "--config", "sample", "--set", *settings]) == 0
        assert main(["average", "--run", f"trained/{direction}", "--count", "2"]) == 0

    all_commands = " ".join(" ".join(command) for command in shown)
    for name in set(re.findall(r"runs/([\w-]+)", all_commands)):
        direction = "fa-en" if "reverse" in name else "en-fa"
        shutil.copytree(f"trained/{direction}", f"runs/{name}", symlinks=True)


def test_every_shown_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path / "checkout")
    monkeypatch.chdir(tmp_path / "checkout")
    draw_nothing(monkeypatch)
    shown = shown_commands()
    assert len(shown) > 50
    make_runs(shown)
    for command, page in shown.items():
        shutil.rmtree("exports", ignore_errors=True)  # two pages export to one folder
        words = [word.replace(MESSAGES, "messages") for word in words_of(list(command))]
        settings = list(OVERRIDES.get(words[0], []))
        if words[0] == "back-translate":  # it replaces no file that it has not made
            shutil.rmtree("data/back-translated")
        if words[0] == "train":  # one run for each recipe, which the next commands with this recipe find finished
            recipe = Path(words[2]).stem
            settings.append(f"run.directory=trained/{recipe}")
            words.append("--allow-changed")
        if settings:
            words += ["--set", *settings]
        with Path("english.txt").open(encoding="utf-8") as typed, monkeypatch.context() as patch:
            patch.setattr("sys.stdin", typed)
            code = main(words)
        assert code == 0, f"{page}: {' '.join(command)}\n{capsys.readouterr().err}"
