"""Every command shown on a page runs; small corpora and short training replace the real ones."""

import gzip
import itertools
import re
import shlex
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from conftest import compare_with_few_draws, draw_nothing
from doc_examples import PAGES, ROOT, commands

from translator.cli import main

ELSEWHERE = {"bench", "check", "docs", "download", "serve", "tensorboard", "test"}
"""Targets and verbs that do not end by themselves, need a network, or run a whole suite; each has tests of its own."""
QUICK = shlex.split("""
run.threads=1 run.device=cpu model.d_model=16 model.heads=2 model.encoder_layers=1 model.decoder_layers=1
model.feed_forward=16 model.norm=post model.positions=sinusoidal
subword.model_type=char subword.vocabulary_size=90 batching.max_length=120 batching.tokens_per_batch=480 training.accumulation_steps=1
training.max_steps=2 training.validate_every=2 training.checkpoint_every=1 training.warmup_steps=1
training.validation_sentences=4 training.processes=1 training.precision=float32 training.dropout_from=0
corpus.split.validation=20 corpus.split.test=20 corpus.split.block_size=10
search.method=beam search.beam_size=3 search.min_length_ratio=0 search.max_length_ratio=0.1 evaluation.bootstrap_samples=40
training.augmentation.typos=0 training.augmentation.final_punctuation=0 subword.byte_fallback=false subword.sampling=0
""")
SCORED = ["search.min_length_ratio=0", "search.max_length_ratio=0.1", "evaluation.bootstrap_samples=40"]
OVERRIDES = {"prepare": QUICK, "train": QUICK, "fine-tune": QUICK, "distill": QUICK, "evaluate": SCORED}


def words_of(command: list[str]) -> list[str]:
    """Return the arguments of `translator` in a shown command; for `make TARGET`, those of the command that it runs."""
    if command[0] == "translator":
        return command[1:]
    printed = subprocess.run(["make", "--dry-run", *command[1:]], capture_output=True, text=True, check=True).stdout
    (line,) = re.findall(r"^'\.venv/bin/translator' (.*)", printed, flags=re.MULTILINE)
    text = "".join(word.partition("=")[2] for word in command if word.startswith("TEXT="))
    return shlex.split(line.replace('"$TRANSLATE_TEXT"', shlex.quote(text)))


def fill(folder: Path) -> None:
    """Put the files that the pages name into `folder`, and the development corpora beside it."""
    lines = (ROOT / "data" / "sample" / "train.tsv").read_text(encoding="utf-8").splitlines()
    rows = iter([line.split("\t") for line in lines])

    def sides(count: int) -> list[str]:
        return ["".join(f"{line}\n" for line in side) for side in zip(*itertools.islice(rows, count), strict=True)]

    def tsv(count: int) -> str:
        return "".join("\t".join(row) + "\n" for row in itertools.islice(rows, count))

    shared = folder.parent / "shared" / "data"
    for made in (shared, folder / "data" / "sample"):
        made.mkdir(parents=True)
    for name in ("configs", "bench", "Makefile", "pyproject.toml", "constraints.txt"):
        (folder / name).symlink_to(ROOT / name)
    for name, count in (("train", 300), ("validation", 20), ("test", 20)):
        (folder / "data" / "sample" / f"{name}.tsv").write_text(tsv(count), encoding="utf-8")
    archives = [folder / "data" / name for name in ("mizan.zip", "tatoeba.zip")]
    archives += [shared / name for name in ("mizan.zip", "tatoeba.zip", "bible.en-fa.zip", "quran.en-fa.zip")]
    for archive in archives:
        with zipfile.ZipFile(archive, "w") as opened:
            for name, text in zip(("corpus_en.txt", "corpus_fa.txt"), sides(200), strict=True):
                opened.writestr(name, text)
    for code, text in zip(("en", "fa"), sides(200), strict=True):
        (shared / f"afec.{code}.gz").write_bytes(gzip.compress(text.encode()))
    (shared / "docs.tsv.gz").write_bytes(gzip.compress(tsv(200).encode()))
    for name, count in (("my", 80), ("test", 12), ("devtest", 12)):
        for code, text in zip(("en", "fa"), sides(count), strict=True):
            (folder / f"{name}.{code}").write_text(text, encoding="utf-8")
    for name in ("held.tsv", "my-test.tsv"):
        (folder / name).write_text(tsv(20), encoding="utf-8")
    for name, text in zip(("book.en", "persian.txt"), sides(30), strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    shutil.copy(folder / "book.en", folder / "english.txt")
    synthetic = folder / "data" / "back-translated" / "synthetic"
    synthetic.parent.mkdir()
    for code, text in zip(("en", "fa"), sides(120), strict=True):
        synthetic.with_suffix(f".{code}").write_text(text, encoding="utf-8")
    corpora = (ROOT / "docs" / "corpora.md").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^`six\.yaml`:\n\n```yaml\n(.*?)```", corpora, flags=re.MULTILINE | re.DOTALL)
    (folder / "six.yaml").write_text(recipe, encoding="utf-8")


def test_every_shown_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path / "checkout")
    monkeypatch.chdir(tmp_path / "checkout")
    draw_nothing(monkeypatch)
    compare_with_few_draws(monkeypatch)
    shown = {
        tuple(command): page.name
        for page in PAGES
        for program in ("make", "translator")
        for command in commands(page.read_text(encoding="utf-8"), program)
        if command[1] not in ELSEWHERE
    }
    assert len(shown) > 60
    for direction in ("en-fa", "fa-en"):
        made = [*QUICK, f"corpus.direction={direction}", f"run.directory=trained/{direction}"]
        made += ["training.max_steps=5", "training.validate_every=1", "training.keep_best=5"]
        assert main(["train", "--config", "sample", "--set", *made]) == 0
        assert main(["average", "--run", f"trained/{direction}", "--count", "2"]) == 0
    for name in set(re.findall(r"runs/([\w-]+)", " ".join(map(" ".join, shown)))):
        shutil.copytree(f"trained/{'fa-en' if 'reverse' in name else 'en-fa'}", f"runs/{name}", symlinks=True)
    for number, (command, page) in enumerate(shown.items()):
        shutil.rmtree("exports", ignore_errors=True)  # two pages export to one folder
        words = words_of(list(command))
        settings = list(QUICK if words[:2] == ["plot", "batches"] else OVERRIDES.get(words[0], []))
        if words[0] == "back-translate":  # it replaces no file that it has not made
            shutil.rmtree("data/back-translated")
        if words[0] == "train":
            settings.append(f"run.directory=trained/{number}")
        with Path("english.txt").open(encoding="utf-8") as typed, monkeypatch.context() as patch:
            patch.setattr("sys.stdin", typed)
            code = main([*words, *(["--set", *settings] if settings else [])])
        assert code == 0, f"{page}: {' '.join(command)}\n{capsys.readouterr().err}"
