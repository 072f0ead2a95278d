"""The common parts of all sentence patterns: the phrase builders, and the finished sentence."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scripts.sample_corpus import english, tenses
from scripts.sample_corpus.clauses import Clause, Setting, VerbPhrase
from scripts.sample_corpus.lexicon import Adjective, Frame, Lexicon, Noun, Verb
from scripts.sample_corpus.phrases import YOU, NounPhrase, Phrases
from scripts.sample_corpus.verb_phrases import VerbPhrases

TRIES = 60


@dataclass(frozen=True)
class Sentence:
    """A finished pair, with the data needed for the split."""

    en: str
    fa: str
    pattern: str
    lemmas: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


class Grammar:
    """One lexicon, one random stream, and the builders on top of them."""

    def __init__(self, lexicon: Lexicon, rng: random.Random) -> None:
        self.lexicon = lexicon
        self.rng = rng
        self.phrases = Phrases(lexicon, rng)
        self.verbs = VerbPhrases(self.phrases)
        self.states = [a for a in lexicon.adjectives.values() if a.kind == "state"]
        self.weather = [a for a in lexicon.adjectives.values() if a.kind == "weather"]

    def chance(self, probability: float) -> bool:
        """A biased coin."""
        return self.rng.random() < probability

    def action(
        self,
        tense: str,
        *,
        ban: str = "",
        need: str = "",
        subject: NounPhrase | None = None,
        negative: bool = False,
        extras: int = 1,
        ask: str = "",
        style_tense: str = "",
        suits: Callable[[Verb, Frame], bool] | None = None,
    ) -> tuple[NounPhrase, VerbPhrase, Frame]:
        """A subject and its action; repeats the draw until the pair makes sense."""
        while True:
            verb, frame = self.verbs.pick(tense, ban, need)
            if suits and not suits(verb, frame):
                continue
            if negative and "negative" in frame.bans:
                continue
            if subject is not None and frame.subject:
                # Frames with their own kind of subject need to choose it themselves.
                named = tuple(name for name in frame.subject if name != "pronoun")
                if subject.noun is None and "pronoun" not in frame.subject:
                    continue
                if subject.noun is not None and subject.noun not in self.lexicon.tagged(named):
                    continue
            doer = subject or self.phrases.subject(frame.subject)
            vp = self.verbs.vary(
                verb, frame, doer, style_tense or tense or "past", negative=negative, extras=extras, ask=ask
            )
            if vp is not None:
                return doer, vp, frame

    def asked(self) -> NounPhrase:
        """Someone a question may be about: rarely oneself."""
        if self.chance(0.4):
            return YOU
        while True:
            subject = self.phrases.subject()
            if subject.person != 1:
                return subject

    def setting(self, frame: Frame, tense: str, vp: VerbPhrase, negative: bool = False) -> Setting:
        """When it happens; see `tenses.setting`."""
        return tenses.setting(self.phrases, frame, tense, negative=negative, far=vp.verb.far)

    def noun(self, names: Sequence[str]) -> Noun:
        """One noun of the named kinds."""
        return self.rng.choice(self.lexicon.tagged(tuple(names)))

    def describable(self, predicate: bool = True) -> tuple[Noun, Adjective]:
        """A thing or place, and an adjective for it."""
        while True:
            noun = self.rng.choice(list(self.lexicon.nouns.values()))
            if noun.is_person or noun.count in ("bare", "unique"):
                continue
            fitting = [a for a in self.phrases.describing[noun.lemma] if predicate or not a.predicate_only]
            if fitting:
                return noun, self.rng.choice(fitting)


def finish(
    pattern: str, en: str, fa: str, parts: Sequence[Clause], *, question: bool = False, extra: tuple[str, ...] = ()
) -> Sentence:
    """Capitals, final marks, and the words and combinations of all the parts together."""
    lemmas = tuple(lemma for part in parts for lemma in part.lemmas) + extra
    keys = tuple(key for part in parts for key in part.keys)
    # After ا and و the verb است loses its alef: زیباست، دانشجوست، کجاست.
    fa = re.sub(r"(\w[او]) است\b", r"\1ست", fa)
    return Sentence(
        english.sentence(en, "?" if question else "."), fa + ("؟" if question else "."), pattern, lemmas, keys
    )


__all__ = ["Grammar", "Sentence", "Setting", "finish"]
