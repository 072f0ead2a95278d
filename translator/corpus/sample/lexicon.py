"""Reads the lexicon files into records, and says exactly which line of thought is broken when one is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from translator.corpus.sample import english, persian
from translator.corpus.sample.entries import Adjective, Frame, Noun, Phrase, Spot, Verb
from translator.errors import CorpusError

FILES = ("nouns", "people", "names", "places", "spots", "times", "adjectives", "verbs")
FRAME_KEYS = {
    "subj", "obj", "marker", "enprep", "prep", "fixed", "at", "to", "from", "reach", "intospot", "into", "how",
    "because", "bans", "kind", "for", "with", "by", "need", "own", "definite", "indefinite", "generic", "unmarked",

}  # fmt: skip


@dataclass
class Lexicon:
    """Every word of the grammar, in file order."""

    nouns: dict[str, Noun] = field(default_factory=dict)
    adjectives: dict[str, Adjective] = field(default_factory=dict)
    verbs: dict[str, Verb] = field(default_factory=dict)
    spots: list[Spot] = field(default_factory=list)
    times: dict[str, list[Phrase]] = field(default_factory=dict)
    manners: dict[str, Phrase] = field(default_factory=dict)
    numbers: list[str] = field(default_factory=list)
    tens: dict[str, str] = field(default_factory=dict)

    def tagged(self, names: tuple[str, ...], places: bool = False) -> list[Noun]:
        """The nouns that any of the names selects; a name is a tag or a lemma, and a tag wins."""
        found: dict[str, Noun] = {}
        for name in names:
            pool = [noun for noun in self.nouns.values() if (noun.kind == "place") == places]
            hits = [noun for noun in pool if name in noun.tags]
            if not hits and name in self.nouns:
                hits = [self.nouns[name]]
            if not hits and not places:
                hits = [noun for noun in self.nouns.values() if name in noun.tags]
            found.update({noun.lemma: noun for noun in hits})
        return list(found.values())

    def lemmas(self) -> int:
        """How many content words there are."""
        return len(self.nouns) + len(self.adjectives) + len(self.verbs)


def load_lexicon(folder: Path) -> Lexicon:
    """Read the YAML files of a lexicon folder; raises CorpusError naming the file and the entry that is wrong."""
    raw = {name: _read(folder / f"{name}.yaml") for name in FILES}
    lexicon = Lexicon()
    for lemma, entry in raw["nouns"].items():
        _add_noun(lexicon, folder / "nouns.yaml", lemma, entry, "thing")
    for lemma, entry in raw["people"].items():
        _add_noun(lexicon, folder / "people.yaml", lemma, entry, _need(folder / "people.yaml", lemma, entry, "kind"))
    for gender, names in raw["names"].items():
        for lemma, fa in names.items():
            _add_noun(lexicon, folder / "names.yaml", lemma, {"fa": fa, "gender": gender, "count": "bare"}, "name")
    for lemma, entry in raw["places"].items():
        _add_noun(lexicon, folder / "places.yaml", lemma, entry, "place")
    for entry in raw["spots"]:
        path = folder / "spots.yaml"
        lexicon.spots.append(Spot(*(_need(path, str(entry), entry, key) for key in ("en", "fa", "noun"))))
    for name, phrases in raw["times"].items():
        if name == "numbers":
            lexicon.numbers = list(phrases)
        elif name == "tens":
            lexicon.tens = dict(phrases)
        elif name == "manner":
            lexicon.manners = {en: Phrase(en, fa) for en, fa in phrases.items()}
        else:
            lexicon.times[name] = [Phrase(en, fa) for en, fa in phrases.items()]
    for lemma, entry in raw["adjectives"].items():
        lexicon.adjectives[lemma] = _adjective(folder / "adjectives.yaml", lemma, entry)
    for key, entry in raw["verbs"].items():
        lexicon.verbs[key] = _verb(folder / "verbs.yaml", key, entry)
    _check_references(lexicon, folder)
    return lexicon


def _read(path: Path) -> Any:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CorpusError(
            f"{path}: cannot read the lexicon file ({error.strerror}); restore it from the repository"
        ) from error
    except yaml.YAMLError as error:
        raise CorpusError(f"{path}: not valid YAML: {error}") from error
    if not content:
        raise CorpusError(f"{path}: the lexicon file is empty; restore it from the repository")
    return content


def _need(path: Path, name: str, entry: Any, key: str) -> Any:
    if not isinstance(entry, dict) or key not in entry:
        raise CorpusError(f"{path}: entry {name!r} has no {key!r}; add it")
    return entry[key]


def _words(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(value.split()) if isinstance(value, str) else tuple(value)


def _add_noun(lexicon: Lexicon, path: Path, lemma: str, entry: Any, kind: str) -> None:
    fa = _need(path, lemma, entry, "fa")
    if lemma in lexicon.nouns:
        raise CorpusError(f"{path}: noun {lemma!r} is in the lexicon twice; keep one")
    tags = set(_words(entry.get("tags")))
    if kind in ("family", "human", "worker", "name"):
        tags |= {"person", kind}
    # Nouns without a definite article are "home", "school" and the proper names.
    the = "" if entry.get("article") == "none" else "the "
    here = entry.get("in", "in")
    if not isinstance(here, str):
        # YAML reads a bare on as True.
        raise CorpusError(f"{path}: noun {lemma!r}: 'in' is not text; write it in quotes")
    lexicon.nouns[lemma] = Noun(
        lemma=lemma,
        fa=fa,
        plural=lemma if entry.get("count") == "pair" else entry.get("plural") or english.pluralize(lemma),
        fa_plural=entry.get("fa_plural") or persian.pluralize(fa),
        kind=kind,
        tags=frozenset(tags),
        count=entry.get("count", "bare" if entry.get("article") == "none" else "count"),
        gender=entry.get("gender", ""),
        many=kind != "family" or bool(entry.get("many")),
        at=f"{here} {the}{lemma}" if kind == "place" else "",
        to=entry.get("to") or f"to {the}{lemma}",
        source=f"from {the}{lemma}",
    )


def _adjective(path: Path, lemma: str, entry: Any) -> Adjective:
    fa, kind = _need(path, lemma, entry, "fa"), _need(path, lemma, entry, "kind")
    en, er = lemma.split(".")[0], entry.get("er", "")
    fa_er = entry.get("fa_er") or persian.comparative(fa)
    return Adjective(
        lemma=lemma,
        fa=fa,
        kind=kind,
        of=_words(entry.get("of")),
        who=_words(entry.get("who")),
        comparative=f"more {en}" if er == "more" else er,
        superlative=f"most {en}" if er == "more" else entry.get("est") or (er[:-1] + "st" if er else ""),
        fa_comparative=fa_er if er else "",
        predicate_only=bool(entry.get("predicate")),
    )


def _verb(path: Path, key: str, entry: Any) -> Verb:
    parts = _words(_need(path, key, entry, "en"))
    stems = _need(path, key, entry, "fa")
    if len(stems) != 2:
        raise CorpusError(f"{path}: verb {key!r}: 'fa' wants [past stem, present stem], got {stems}")
    base = parts[0]
    past = parts[1] if len(parts) > 1 else english.regular_past(base)
    return Verb(
        key=key,
        en=base,
        past=past,
        participle=parts[2] if len(parts) > 2 else past,
        gerund=parts[3] if len(parts) > 3 else english.regular_gerund(base),
        particle=entry.get("particle", ""),
        fa_past=stems[0],
        fa_present=stems[1],
        fa_nonverbal=entry.get("nv", ""),
        fa_prefix=entry.get("pre", ""),
        passive=bool(entry.get("passive")),
        far=bool(entry.get("far")),
        frames=tuple(_frame(path, key, frame) for frame in _need(path, key, entry, "frames")),
    )


def _frame(path: Path, key: str, entry: dict[str, Any]) -> Frame:
    unknown = sorted(set(entry) - FRAME_KEYS)
    if unknown:
        raise CorpusError(
            f"{path}: verb {key!r}: unknown frame key {unknown[0]!r}; known: {', '.join(sorted(FRAME_KEYS))}"
        )
    articles = [name for name in ("own", "definite", "indefinite", "generic") if entry.get(name)]
    preposition, fixed = entry.get("prep"), entry.get("fixed")
    return Frame(
        subject=_words(entry.get("subj")),
        objects=_words(entry.get("obj")),
        marker=entry.get("marker", ""),
        english_preposition=entry.get("enprep", ""),
        preposition=(preposition[0], preposition[1], preposition[2]) if preposition else None,
        fixed=(fixed[0], fixed[1], fixed[2]) if fixed else None,
        at=_words(entry.get("at")),
        to=_words(entry.get("to")),
        source=_words(entry.get("from")),
        reach=_words(entry.get("reach")),
        spots=("any",) if entry.get("into") else _words(entry.get("intospot")),
        how=_words(entry.get("how")),
        because=_words(entry.get("because")),
        bans=frozenset(_words(entry.get("bans"))),
        kind=entry.get("kind", "act"),
        beneficiary=bool(entry.get("for")),
        companion=bool(entry.get("with")),
        vehicle=bool(entry.get("by")),
        complete=not entry.get("need"),
        article=articles[0] if articles else "",
        unmarked=bool(entry.get("unmarked")),
    )


def _check_references(lexicon: Lexicon, folder: Path) -> None:
    path = folder / "verbs.yaml"
    for verb in lexicon.verbs.values():
        for frame in verb.frames:
            governed = tuple(frame.preposition[2].split()) if frame.preposition else ()
            for name in frame.subject + frame.objects + governed:
                if name == "pronoun":
                    continue
                if not lexicon.tagged((name,)):
                    raise CorpusError(f"{path}: verb {verb.key!r} names {name!r}, which is neither a tag nor a noun")
            for name in frame.at + frame.to + frame.source + frame.reach:
                if not lexicon.tagged((name,), places=True):
                    raise CorpusError(f"{path}: verb {verb.key!r} names the place {name!r}, which does not exist")
            for name in frame.how:
                if name not in lexicon.manners:
                    raise CorpusError(f"{path}: verb {verb.key!r} names the manner {name!r}, which times.yaml lacks")
            for name in frame.because:
                if name not in lexicon.adjectives:
                    raise CorpusError(
                        f"{path}: verb {verb.key!r} names the reason {name!r}, which adjectives.yaml lacks"
                    )
