"""Back-translation: pairs from monolingual Persian text and its translations into English (Sennrich et al. 2016)."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class BackTranslationPlan:
    """The files of a folder of back-translated pairs."""

    folder: Path
    has_round_trip: bool  # the English is translated back, to filter the pairs

    @property
    def persian(self) -> Path:
        """The distinct lines of the monolingual text."""
        return self.folder / "monolingual.fa"

    @property
    def english(self) -> Path:
        """Their translations."""
        return self.folder / "translated.en"

    @property
    def round_trip(self) -> Path:
        """The translations of `english`."""
        return self.folder / "round-trip.fa"

    @property
    def synthetic(self) -> Path:
        """The filtered pairs, without the ending `.en` or `.fa`."""
        return self.folder / "synthetic"

    @property
    def outputs(self) -> list[Path]:
        """All files to write."""
        pairs = [self.synthetic.with_suffix(".en"), self.synthetic.with_suffix(".fa")]
        round_trip = [self.round_trip] if self.has_round_trip else []
        return [self.persian, self.english, *round_trip, *pairs]

    def training_overrides(self) -> list[str]:
        """Return the overrides that put the pairs into configs/back-translation.yaml."""
        return [
            f"corpus.sources.2.source_path={self.synthetic}.en",
            f"corpus.sources.2.target_path={self.synthetic}.fa",
        ]
