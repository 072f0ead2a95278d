"""The file `normalizer.json`, in which a model keeps the rules of its training text."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, TypeAdapter, with_config

from translator.config import Config
from translator.corpus.normalizer import normalizer
from translator.corpus.normalizer.normalizer import Normalizer, compile_step
from translator.corpus.normalizer.rules import FUNCTIONS, RULES_FORMAT, NormalizerRules, Rewriting, Rule, Work
from translator.errors import RunError
from translator.run.files import storage_errors
from translator.run.folder import RunFolder
from translator.run.records import STRICT, RecordError, read_signed_record


@with_config(STRICT)
@dataclass(frozen=True, kw_only=True)
class _RulesFile(NormalizerRules):
    """The content of `normalizer.json`."""

    format: Annotated[int, Field(ge=RULES_FORMAT, le=RULES_FORMAT)]


_RULES_FILE: Final = TypeAdapter(_RulesFile)


def read_rules(file: Path) -> NormalizerRules:
    """Return the rules in a file that `NormalizerRules.to_json` wrote.

    Raises RunError: the file is damaged, or its rules need another version of translator.
    """
    with storage_errors(file, "read"):
        content = file.read_bytes()
    try:
        record = read_signed_record(_RULES_FILE, content)
        _check_usable(record)
    except RecordError as error:
        raise RunError(error.about(file, "restore the whole run folder from a copy")) from error
    return NormalizerRules(version=record.version, rules=record.rules, again=record.again)


def _check_usable(rules: NormalizerRules) -> None:
    """Raise RecordError if this version of translator lacks a function of the rules, or cannot read a pattern."""
    try:
        for rule in rules.rules:
            _check_work(rule, rule.english)
            _check_work(rule, rule.persian)
        for pattern in rules.again.values():
            re.compile(pattern)
    except (re.error, IndexError, OverflowError, RecursionError) as error:
        raise RecordError(f"a pattern or a template is invalid: {error}") from error


def _check_work(rule: Rule, work: Work) -> None:
    """Raise RecordError for an unknown function, and what `re` raises for an invalid pattern or template."""
    for step in (work.decoding, *work.text):
        if isinstance(step, Rewriting):
            compile_step(step)
            for row in step.rows:
                if isinstance(row.replacement, str):
                    re.sub(row.pattern, row.replacement, "")  # reads the template too
        elif step is not None and step not in FUNCTIONS:
            raise RecordError(f"the rule {rule.key} names the unknown function {step}")


def rules_of_run(run: RunFolder) -> NormalizerRules:
    """Return the rules of a trained model; a run of an older version has no file, and gets the current ones.

    Whether those are the right ones for it says `checkpoint.state.check_normalizer`. Raises RunError: the file is
    damaged.
    """
    return read_rules(run.normalizer_file) if run.normalizer_file.exists() else normalizer.CURRENT_RULES


def normalizer_of_run(run: RunFolder, config: Config) -> Normalizer:
    """Return the normalizer of a trained model, whose configuration is `config`; raise RunError as `rules_of_run`."""
    return Normalizer(config.corpus.normalization, config.corpus.languages, rules_of_run(run))


def normalizer_for(config: Config) -> Normalizer:
    """Return the normalizer for the training text of `config`: of the models that it uses, or with the current rules.

    A resumed run goes on with its own rules. With `subword.models_from`, text must be spelt as those models know it.
    Raises RunError: a file of rules is damaged.
    """
    run = RunFolder(Path(config.run.directory))
    if run.has_checkpoint:
        return normalizer_of_run(run, config)
    if config.subword.models_from is not None:
        return normalizer_of_run(RunFolder(Path(config.subword.models_from)), config)
    return Normalizer(config.corpus.normalization, config.corpus.languages)
