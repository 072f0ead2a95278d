"""The page that lists every verb of the command line, with all that it takes."""

import argparse
from collections.abc import Iterator
from typing import Final

from translator.cli import parser

PAGE: Final = "cli-reference.md"
_WIDTH: Final = 96
"""Columns of a line of usage."""
_INTRODUCTION: Final = """# Every verb of the command line

This page is made from the program when the site is built, so it cannot be out of date. `translator VERB --help` prints
the same. `make help` lists the targets of the Makefile, most of which are one of these verbs.

| exit code | |
|---|---|
| 0 | done |
| 1 | a bug, with its traceback |
| 2 | your mistake in config, corpus or command, with one message |
| 129, 130, 143 | stopped by SIGHUP, SIGINT, SIGTERM, after saving |

Results go to standard output; progress, warnings and messages to standard error.
`translator --version` prints the version.
"""


def cli_page() -> str:
    """Return the page in Markdown: a heading for each verb."""
    return "\n".join([_INTRODUCTION, *_verb_lines(parser())])


def verbs_of(command: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the verbs of a command by name, in the order of its help; none if it has none."""
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _verb_lines(command: argparse.ArgumentParser) -> Iterator[str]:
    for name, verb in verbs_of(command).items():
        if verbs_of(verb):
            yield from _verb_lines(verb)
            continue
        yield f"\n## {verb.prog} {{ #{verb.prog.replace(' ', '-')} data-toc-label='{verb.prog.partition(' ')[2]}' }}\n"
        yield f"{_sentence(verb.description or _summaries(command)[name])}\n"
        yield f"```text\n{_usage(verb)}```\n"
        yield "| | |\n|---|---|"
        yield from (
            f"| {_named(action)} | {_explained(action, verb)} |" for action in verb._actions if action.dest != "help"
        )
        if verb.epilog:
            yield f"\n```text\n{verb.epilog.strip()}\n```"


def _summaries(command: argparse.ArgumentParser) -> dict[str, str]:
    """Return what the help of a command says of each of its verbs."""
    (adding,) = (action for action in command._actions if isinstance(action, argparse._SubParsersAction))
    return {choice.dest: choice.help or "" for choice in adding._choices_actions}


def _usage(verb: argparse.ArgumentParser) -> str:
    formatter = argparse.HelpFormatter(verb.prog, width=_WIDTH)
    formatter.add_usage(verb.usage, verb._actions, verb._mutually_exclusive_groups, prefix="")
    return formatter.format_help()


def _named(action: argparse.Action) -> str:
    """Return what one writes for an argument."""
    if action.choices is not None and action.metavar is None:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    else:
        value = str(action.metavar or action.dest.upper())
    if not action.option_strings:
        return f"`{value if action.metavar or action.choices else action.dest}`"
    return ", ".join(f"`{option}{'' if action.nargs == 0 else ' ' + value}`" for option in action.option_strings)


def _explained(action: argparse.Action, verb: argparse.ArgumentParser) -> str:
    text = (action.help or "") % {"prog": verb.prog, "default": action.default}
    if action.required and action.option_strings:
        text += " (required)"
    return text.replace("|", "\\|")


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")
