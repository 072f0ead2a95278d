"""The embedded sample corpus: a bilingual grammar that writes correct everyday English and Persian sentence pairs."""
