"""The verb completion."""

import argparse
from typing import Any

from translator.cli.arguments import Verbs
from translator.cli.manual import verbs_of
from translator.cli.say import say
from translator.signals import StopRequest

_FILES = ("FILE", "[NAME=]PATH", "SYSTEM", "A", "B")
"""What stands for a file in the help."""
_HOW = """where the script goes:
  bash   translator completion bash > ~/.local/share/bash-completion/completions/translator
  zsh    translator completion zsh > FOLDER/_translator, a FOLDER of $fpath
  fish   translator completion fish > ~/.config/fish/completions/translator.fish"""


def add_verbs(verbs: Verbs) -> None:
    """Add the verb completion."""
    summary = "print the script by which a shell completes verbs, options and files"
    completion = verbs.add_parser("completion", help=summary, description=f"{summary}\n\n{_HOW}")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="of which shell")
    completion.set_defaults(verb=_completion)


def _completion(options: argparse.Namespace, stop: StopRequest) -> None:
    import shtab

    from translator.cli import parser

    whole = parser()
    for action in (action for _, verb in verbs_of(whole) for action in verb._actions):
        if "--config" in action.option_strings:
            action.complete = _recipes()  # type: ignore[attr-defined]
        elif action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar == "FOLDER":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    say(shtab.complete(whole, shell=options.shell))


def _recipes() -> dict[str, Any]:
    """Return how each shell completes a recipe: by the names of ours, or as a file."""
    from translator.shipped import shipped_recipes

    names = " ".join(recipe.name for recipe in shipped_recipes())
    return {
        "bash": "_translator_recipes",
        "zsh": f"{{compadd -- {names}; _files}}",
        "fish": f"{names} (__fish_complete_path (commandline -ct))",
        "preamble": {"bash": f'_translator_recipes() {{ compgen -W "{names}" -- "$1"; compgen -f -- "$1"; }}'},
    }
