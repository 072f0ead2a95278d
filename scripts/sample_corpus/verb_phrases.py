"""Chooses complements for a verb so that the result makes sense, and renders them in both languages."""

from __future__ import annotations

from collections.abc import Sequence

from scripts.sample_corpus.clauses import VerbPhrase, spaced
from scripts.sample_corpus.lexicon import Frame, Noun, Verb
from scripts.sample_corpus.phrases import MY, POSSESSABLE, NounPhrase, Owner, Phrases, owner_of
from scripts.sample_corpus.tenses import allowed

# Bicycles and taxis do not go to Germany, airplanes not to the park.
VEHICLES = {True: ("bus", "train", "car", "airplane"), False: ("bus", "taxi", "car", "bicycle", "train")}


class VerbPhrases:
    """Builds random verb phrases that make sense."""

    def __init__(self, phrases: Phrases) -> None:
        self.phrases = phrases
        self.lexicon = phrases.lexicon
        self.rng = phrases.rng

    def pick(self, tense: str, ban: str = "", need: str = "") -> tuple[Verb, Frame]:
        """A verb and frame for a tense (or mood: `ban`); `need` names a frame attribute that must be set."""
        verbs = list(self.lexicon.verbs.values())
        while True:
            verb = self.rng.choice(verbs)
            frame = self.rng.choice(verb.frames)
            if tense and not allowed(frame, tense):
                continue
            if ban and (ban in frame.bans or frame.kind == "state"):
                continue
            if need and not getattr(frame, need):
                continue
            return verb, frame

    def _object_style(self, noun: Noun, frame: Frame, tense: str, negative: bool) -> str:
        count = noun.count
        if count == "bare" or (frame.unmarked and count != "count"):
            return "the" if count == "unique" else "bare"
        if count == "unique":
            return "the"
        owned = any(tag in noun.tags for tag in POSSESSABLE)
        if frame.article == "own":
            return "owned plural" if "body" in noun.tags else "owned"
        definite = ["the", "this", "plural"] + (["owned", "owned"] if owned else [])
        if frame.article == "definite":
            styles = [*definite, "the"]
            if tense == "present" and frame.kind == "act":
                # A habit is about one's own things, seldom about "this dress".
                styles = ["owned"] if owned else ["the", "plural"]
        elif frame.article == "generic" or (
            tense in ("present", "used to") and frame.kind == "act" and not frame.article
        ):
            styles = ["bare plural"] + (["owned"] if owned and not frame.article else [])
        elif frame.article == "indefinite":
            styles = ["a", "a", "two", "three"] if tense != "present" or frame.kind != "act" else ["a"]
            if "needed" in noun.tags or frame.marker:
                styles = ["a"]
        elif negative:
            styles = definite
        else:
            styles = [
                *definite,
                "a",
                "a",
                "a",
                self.rng.choice(("two", "three", "four", "five")),
                "bare plural",
                "many",
            ]
        if frame.marker in ("سوار", "وارد", "دنبال"):
            styles = [style for style in styles if style not in ("many", "bare plural")] or ["the"]
        style = self.rng.choice(styles)
        if count == "mass":
            if style == "owned" and owned:
                return style
            if frame.article == "definite" or style == "the":
                return "the"
            return "some" if style == "two" and tense == "past" else "bare"
        if count == "pair":
            return style if style in ("the", "this", "owned") else "the"
        return style

    def object(self, noun: Noun, frame: Frame, tense: str, subject: NounPhrase, negative: bool) -> NounPhrase | None:
        """The object phrase, or None where no sensible one exists for this subject."""
        if noun.is_person:
            if noun.kind == "family" or noun.kind == "name":
                return None if set(subject.lemmas) & {noun.lemma} else self.phrases.person(noun, subject)
            if frame.article == "indefinite" or (tense == "past" and not negative and self.phrases.chance(0.15)):
                return self.phrases.build(noun, "a", self.phrases.adjective(noun) if self.phrases.chance(0.2) else None)
            return self.phrases.person(noun, subject)
        if noun.kind == "place":
            return self.place_object(noun)
        style = self._object_style(noun, frame, tense, negative)
        owner: Owner | None = None
        if style.startswith("owned"):
            owner = owner_of(subject) if frame.article == "own" else self.phrases.owner(subject)
            if owner is None:
                return None
        adjective = None
        if style not in ("bare", "bare plural", "many") and noun.count != "pair" and "washbody" not in noun.tags:
            adjective = self.phrases.adjective(noun) if self.phrases.chance(0.22) else None
        return self.phrases.build(noun, style, adjective, owner)

    def place_object(self, noun: Noun) -> NounPhrase:
        """A place as an object or subject: "the kitchen", "Tehran"; one's room is "my room"."""
        if noun.count == "bare":
            if noun.lemma[0].isupper():
                return self.phrases.build(noun, "bare")
            return self.phrases.build(noun, "the")
        if noun.lemma in ("room", "bedroom", "office", "garden", "yard") and self.phrases.chance(0.3):
            return self.phrases.build(noun, "owned", owner=MY)
        return self.phrases.build(noun, "the")

    def vary(
        self,
        verb: Verb,
        frame: Frame,
        subject: NounPhrase,
        tense: str,
        *,
        negative: bool = False,
        extras: int = 1,
        ask: str = "",
        place: Noun | None = None,
    ) -> VerbPhrase | None:
        """One verb phrase. `ask` replaces a part by a question word: object, who, place, how. None: no sensible one."""
        rng, phrases = self.rng, self.phrases
        en: list[str] = [verb.particle, frame.english_preposition]
        marked = near = manner = ""
        oblique: list[str] = []
        lemmas: list[str] = [verb.key]
        keys: list[str] = []
        if frame.objects:
            if ask == "object":
                near = "چه"
            elif ask == "who":
                marked = f"{frame.marker} چه کسی" if frame.marker else "چه کسی را"
            else:
                object_phrase = self._pick_object(frame, subject, tense, negative)
                if object_phrase is None:
                    return None
                en.append(object_phrase.object_en or object_phrase.en)
                lemmas += object_phrase.lemmas
                keys += object_phrase.keys + ((f"{verb.key}|{object_phrase.noun.lemma}",) if object_phrase.noun else ())
                if frame.marker:
                    marked = f"{frame.marker} {object_phrase.fa}"
                elif object_phrase.definite and not frame.unmarked:
                    marked = object_phrase.object_fa or f"{object_phrase.fa} را"
                else:
                    near = object_phrase.fa
        if frame.fixed:
            en.append(frame.fixed[0])
            near = spaced(near, frame.fixed[1])
            lemmas.append(frame.fixed[2])
        governed = ""
        if frame.preposition:
            link_en, link_fa, kind = frame.preposition
            participant = self._governed(kind, subject)
            if participant is None:
                return None
            # "give the book to Ali" is the one order used; a bare verb "ask" needs none.
            en.append(f"{link_en} {participant.object_en or participant.en}")
            governed = f"{link_fa} {participant.fa}"
            lemmas += participant.lemmas
            keys += participant.keys + ((f"{verb.key}|{participant.noun.lemma}",) if participant.noun else ())
        optional = self._extras(frame, extras, ask, place)
        place_en = place_fa = ""
        for role in optional:
            if role == "place":
                if ask == "place":
                    place_fa = "کجا"
                    continue
                spot_en, spot_fa, lemma = self._place(frame, place)
                place_en, place_fa = spot_en, spot_fa
                lemmas.append(lemma)
                keys.append(f"{verb.key}|{lemma}")
        if place_en:
            en.append(place_en)
        if "companion" in optional:
            participant = phrases.anyone(subject)
            en.append(f"with {participant.object_en or participant.en}")
            oblique.append(f"با {participant.fa}")
            lemmas += participant.lemmas
        if "beneficiary" in optional:
            participant = phrases.anyone(subject)
            en.append(f"for {participant.object_en or participant.en}")
            oblique.append(f"برای {participant.fa}")
            lemmas += participant.lemmas
        if "vehicle" in optional and ask != "how":
            vehicle = self.lexicon.nouns[rng.choice(VEHICLES[verb.key == "travel"])]
            en.append(f"by {vehicle.lemma}")
            oblique.append(f"با {vehicle.fa}")
            lemmas.append(vehicle.lemma)
        if ask == "how":
            oblique.append("چطور")
        # در کافه با علی گپ زدم: the place stands before what the verb governs.
        oblique += [place_fa, governed]
        # A manner is odd with a negation ("did not slowly ...") and with a habit.
        ways = [way for way in frame.how if way not in ("well", "easily", "happily") or "progressive" not in tense]
        if "how" in optional and ways and not negative and tense not in ("present", "used to"):
            way = self.lexicon.manners[rng.choice(ways)]
            en.append(way.en)
            manner = way.fa
            lemmas.append(way.en)
        lasting = frame.kind in ("state", "long")
        return VerbPhrase(
            verb, spaced(*en), marked, spaced(*oblique), manner, near, tuple(lemmas), tuple(keys), lasting
        )

    def _pick_object(self, frame: Frame, subject: NounPhrase, tense: str, negative: bool) -> NounPhrase | None:
        if frame.objects == ("person",):
            return self.phrases.anyone(subject)
        noun = self.rng.choice(self.lexicon.tagged(frame.objects))
        return self.object(noun, frame, tense, subject, negative)

    def _governed(self, kind: str, subject: NounPhrase) -> NounPhrase | None:
        if kind == "person":
            return self.phrases.anyone(subject)
        noun = self.rng.choice(self.lexicon.tagged(tuple(kind.split())))
        if noun.is_person:
            return None if noun.lemma in subject.lemmas else self.phrases.person(noun, subject)
        if noun.kind == "place":
            return self.place_object(noun)
        return self.phrases.build(noun, self.rng.choice(("the", "the", "this")))

    def _extras(self, frame: Frame, extras: int, ask: str, place: Noun | None) -> Sequence[str]:
        goal = bool(frame.to or frame.source or frame.reach)
        has_place = goal or bool(frame.at or frame.spots)
        chosen = ["place"] if has_place and (goal or not frame.complete or place or ask == "place") else []
        if frame.spots == ("any",) and frame.kind == "event":
            chosen = ["place"]
        options = [
            name
            for name, possible in (
                ("place", has_place),
                ("companion", frame.companion),
                ("beneficiary", frame.beneficiary),
                ("vehicle", frame.vehicle),
                ("how", bool(frame.how)),
            )
            if possible and name not in chosen
        ]
        for _ in range(extras):
            if options and self.phrases.chance(0.45):
                chosen.append(options.pop(self.rng.randrange(len(options))))
        return chosen

    def _place(self, frame: Frame, place: Noun | None) -> tuple[str, str, str]:
        if frame.spots:
            spots = [spot for spot in self.lexicon.spots if frame.spots == ("any",) or spot.noun in frame.spots]
            spots = [spot for spot in spots if frame.spots == ("any",) or spot.en.startswith("on")]
            spot = self.rng.choice(spots)
            return spot.en, spot.fa, spot.noun
        if place is None:
            place = self.rng.choice(
                self.lexicon.tagged(frame.to or frame.source or frame.reach or frame.at, places=True)
            )
        if place.kind != "place":
            return place.to, f"به {place.fa}", place.lemma
        if frame.to:
            return place.to, f"به {place.fa}", place.lemma
        if frame.source:
            return place.source, f"از {place.fa}", place.lemma
        return place.at, f"{'به' if frame.reach else 'در'} {place.fa}", place.lemma
