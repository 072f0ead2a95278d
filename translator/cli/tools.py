"""The remaining verbs: corpus overlap, download, recipe, schema, doctor, completion."""

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from translator.cli.arguments import option, say, verb
from translator.errors import InputError, TranslatorError
from translator.run.signals import StopRequest

_SCHEMA_LINE: Final = re.compile(r"^(# yaml-language-server: \$schema=).*$", re.MULTILINE)
"""The line from which an editor finds the schema of a recipe; a copied recipe refers to `schema.json` beside it."""
_COMPLETION: Final = """print a script for shell completion of verbs, options and files

where to save the script:
  bash   translator completion bash > ~/.local/share/bash-completion/completions/translator
  zsh    translator completion zsh > FOLDER/_translator, with a FOLDER in $fpath
  fish   translator completion fish > ~/.config/fish/completions/translator.fish"""


@verb(
    "corpus overlap",
    "count the pairs and the texts of each side that two corpora share",
    option("first A", "a zip, a two-column TSV, a TMX, a folder of these, or ENGLISH:PERSIAN"),
    option("second B", "the other corpus, in any of these forms"),
    examples=("translator corpus overlap data/mizan.zip my-test.en:my-test.fa",),
)
def _overlap(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config import NormalizationConfig
    from translator.corpus.duplicates import find_overlap, format_overlap
    from translator.corpus.normalizer import Normalizer
    from translator.corpus.sources import corpus_argument

    first, second = corpus_argument(options.first), corpus_argument(options.second)
    say(format_overlap(find_overlap(first, second, Normalizer(NormalizationConfig()))))


@verb(
    "download",
    "download a public corpus; no other verb downloads anything",
    option("dataset DATASET", "name of the corpus (default: list all)", nargs="?"),
    option("--folder FOLDER", "folder for the download (default: data)", default="data"),
    examples=("translator download mizan --folder data",),
)
def _download(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.corpus.download import dataset_table, download_dataset, recipe_snippet

    if options.dataset:
        path = download_dataset(options.dataset, Path(options.folder))
        say(f"{path} is ready; add this to a recipe:", recipe_snippet(options.dataset, Path(options.folder)))
    else:
        say(dataset_table())


@verb(
    "recipe",
    "list the shipped recipes, or print or copy one",
    option("name NAME", "name of the recipe (default: list all)", nargs="?"),
    option("--output FILE", "file for the copy; an existing file is never overwritten"),
    examples=("translator recipe sample --output my.yaml",),
)
def _recipe(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config.loading import shipped_recipes
    from translator.run.output_paths import write_output
    from translator.run.text import text_table

    texts = {name: path.read_text(encoding="utf-8") for name, path in shipped_recipes().items()}
    if options.name is None:
        comments = {name: re.findall("^# (?!yaml-language)(.*)", text, re.MULTILINE) for name, text in texts.items()}
        say(text_table(("name", "what"), [(name, comments[name][0]) for name in texts], text_columns=2))
        return
    if options.name not in texts:
        raise InputError(f"unknown recipe `{options.name}`; shipped recipes: {', '.join(texts)}")
    text = _SCHEMA_LINE.sub(r"\g<1>schema.json", texts[options.name])
    if options.output is None:
        say(text.rstrip("\n"))
        return
    output = Path(options.output)
    if output.exists():
        raise InputError(f"{output} exists; choose another file, or remove it first")
    output.parent.mkdir(parents=True, exist_ok=True)
    write_output(output, text)
    say(f"{output} is written. Next:", f"  translator train --config {output}")
    say(f"  translator schema --output {output.parent / 'schema.json'}    # for editors that complete and check keys")


@verb(
    "schema",
    "print the JSON schema of recipes, which lets editors complete and check keys",
    option("--output FILE", "file to write (default: standard output)"),
    examples=("translator schema --output schema.json",),
)
def _schema(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config.loading import schema_text
    from translator.run.output_paths import write_output

    if options.output is None:
        say(schema_text().rstrip("\n"))
        return
    write_output(options.output, schema_text())
    say(f"{options.output} is written; a recipe in the same folder refers to it in its first line:")
    say(f"  # yaml-language-server: $schema={Path(options.output).name}")


@verb(
    "doctor",
    "check versions, devices, memory and disk of this machine, and advise how to fix problems",
    option("--json", "print the findings as JSON", action="store_true"),
    examples=("translator doctor --json > doctor.json",),
)
def _doctor(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.doctor import examine, format_findings

    findings = examine(Path.cwd())
    wrong = [finding.name for finding in findings if finding.verdict == "wrong"]
    if options.json:
        found = {"can_train": not wrong, "findings": [finding._asdict() for finding in findings]}
        say(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        say(format_findings(findings))
    if wrong:
        raise TranslatorError(f"training is impossible on this machine: {', '.join(wrong)}; see the advice above")
    if not options.json:
        say("", "Training works on this machine: translator train --config sample")


@verb("completion", _COMPLETION, option("shell", "shell that runs the script", choices=("bash", "zsh", "fish")))
def _completion(options: argparse.Namespace, stop: StopRequest) -> None:
    import shtab

    from translator.cli import parser
    from translator.config.loading import shipped_recipes

    names = " ".join(shipped_recipes())
    recipes = {  # a shipped name, or a file
        "bash": "_translator_recipes",
        "zsh": f"{{compadd -- {names}; _files}}",
        "fish": f"{names} (__fish_complete_path (commandline -ct))",
        "preamble": {"bash": f'_translator_recipes() {{ compgen -W "{names}" -- "$1"; compgen -f -- "$1"; }}'},
    }
    kinds: dict[Any, Any] = {"FOLDER": shtab.DIRECTORY}
    kinds |= dict.fromkeys(("FILE", "[NAME=]PATH", "SYSTEM", "A", "B"), shtab.FILE)
    whole = parser()
    for action in (action for _, one in verbs_of(whole) for action in one._actions):
        if found := recipes if "--config" in action.option_strings else kinds.get(action.metavar):
            action.complete = found  # type: ignore[attr-defined]
    say(shtab.complete(whole, shell=options.shell))


def verbs_of(parser: argparse.ArgumentParser, prefix: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the verbs of `parser` with their names (`corpus`, `corpus overlap`)."""
    for action in parser._actions:  # argparse has no public access to them
        if isinstance(action, argparse._SubParsersAction):
            for name, verb in action.choices.items():
                yield prefix + name, verb
                yield from verbs_of(verb, f"{prefix}{name} ")
