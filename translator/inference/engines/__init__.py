"""What searches: CTranslate2 and torch, with one interface."""
