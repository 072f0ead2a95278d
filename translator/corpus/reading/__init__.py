"""The readers of corpora: raw pairs as a stream, in place, from every form in which people have parallel text."""
