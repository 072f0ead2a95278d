"""Which tenses suit a verb, and when and how often a thing is done."""

from __future__ import annotations

from scripts.sample_corpus.clauses import Setting
from scripts.sample_corpus.lexicon import Frame, Phrase
from scripts.sample_corpus.phrases import NUMBER_WORDS, Phrases

TENSES = {
    "act": ("present", "past", "progressive", "past progressive", "perfect", "future", "used to"),
    "event": ("past", "perfect", "future"),
    "state": ("present", "past"),
    "long": ("present", "past", "perfect", "future", "used to"),
}
# The tenses excluded by each ban of the lexicon.
BANS = {
    "habit": ("present", "used to"),
    "progressive": ("progressive", "past progressive"),
    "past": ("past", "past progressive", "perfect", "used to"),
    "perfect": ("perfect",),
    "future": ("future",),
}


def allowed(frame: Frame, tense: str) -> bool:
    """Whether the frame makes sense in a tense."""
    banned = [tense for ban in sorted(frame.bans) for tense in BANS.get(ban, ())]
    return tense in TENSES[frame.kind] and tense not in banned


# Hours of a day do not date what takes weeks, such as learning a language.
HOURS = ("hour", "morning", "afternoon", "evening", "night")
# "Does not ... twice a week" would leave open how often it is.
HABITS_DENIED = ("every day", "on Saturdays", "on Fridays", "on weekends", "in the mornings", "in the evenings")


def setting(phrases: Phrases, frame: Frame, tense: str, *, negative: bool = False, far: bool = False) -> Setting:
    """A time or frequency that suits the tense; `far` says that it may be dated by the year but not by the hour."""
    times, draw, chance, rng = phrases.lexicon.times, phrases.rng.random(), phrases.chance, phrases.rng
    if tense == "present" and frame.kind == "act":
        if negative:
            return Setting(rng.choice([time for time in times["habit"] if time.en in HABITS_DENIED]), chance(0.3))
        if draw < 0.4:
            return Setting(frequency=rng.choice(times["frequency"]))
        return Setting(rng.choice(times["habit"]), chance(0.3))
    if frame.kind in ("state", "long"):
        return Setting()
    if tense == "progressive":
        return Setting(rng.choice(times["now"])) if draw < 0.35 else Setting()
    if tense == "perfect":
        return Setting(Phrase("yet", "هنوز")) if negative and draw < 0.5 else Setting()
    if tense not in ("past", "future") or draw > 0.72:
        return Setting()
    if draw < 0.12:
        return Setting(rng.choice(times["weekday"]), chance(0.3))
    if far:
        near = [time for time in times[tense] if not any(word in time.en for word in HOURS)]
        return Setting(rng.choice(times[f"{tense}_far"] + near), chance(0.2))
    if draw < 0.22:
        return Setting(clock(phrases))
    time = rng.choice(times[tense])
    return Setting(time, time.en != "soon" and chance(0.3))


def clock(phrases: Phrases) -> Phrase:
    """An hour of the day."""
    hour = phrases.rng.randrange(12)
    return Phrase(f"at {NUMBER_WORDS[hour]} o'clock", f"ساعت {phrases.lexicon.numbers[hour]}")
