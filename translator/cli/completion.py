"""The verb completion."""

import argparse
from collections.abc import Iterator
from typing import Any, Final

from translator.cli.arguments import option, say, verb
from translator.run.signals import StopRequest

_COMPLETION: Final = """print a script for shell completion of verbs, options and files

where to save the script:
  bash   translator completion bash > ~/.local/share/bash-completion/completions/translator
  zsh    translator completion zsh > FOLDER/_translator, with a FOLDER in $fpath
  fish   translator completion fish > ~/.config/fish/completions/translator.fish"""
_FILES: Final = ("FILE", "[NAME=]PATH", "SYSTEM", "A", "B")  # metavars of arguments that are files
_FOLDERS: Final = ("FOLDER",)


@verb("completion", _COMPLETION, option("shell", "shell that runs the script", choices=("bash", "zsh", "fish")))
def _completion(options: argparse.Namespace, stop: StopRequest) -> None:
    import shtab

    program: argparse.ArgumentParser = options.program
    recipes = _recipes_by_shell()
    # The metavar of an argument tells what the shell should offer for it.
    for _, parser in verbs_of(program):
        for action in parser._actions:
            if "--config" in action.option_strings:
                completion: Any = recipes
            elif action.metavar in _FOLDERS:
                completion = shtab.DIRECTORY
            elif action.metavar in _FILES:
                completion = shtab.FILE
            else:
                continue
            action.complete = completion  # type: ignore[attr-defined]  # shtab reads it
    say(shtab.complete(program, shell=options.shell))


def _recipes_by_shell() -> dict[str, Any]:
    """Return how each shell completes a recipe: the name of a shipped one, or a file."""
    from translator.config.loading import shipped_recipes

    names = " ".join(shipped_recipes())
    return {
        "bash": "_translator_recipes",
        "zsh": f"{{compadd -- {names}; _files}}",
        "fish": f"{names} (__fish_complete_path (commandline -ct))",
        "preamble": {"bash": f'_translator_recipes() {{ compgen -W "{names}" -- "$1"; compgen -f -- "$1"; }}'},
    }


def verbs_of(parser: argparse.ArgumentParser, prefix: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the verbs of `parser` with their names (`corpus`, `corpus overlap`)."""
    for action in parser._actions:  # argparse has no public access to them
        if isinstance(action, argparse._SubParsersAction):
            for name, verb in action.choices.items():
                yield prefix + name, verb
                yield from verbs_of(verb, f"{prefix}{name} ")
