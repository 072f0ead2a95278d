"""What searches: CTranslate2 and torch, with one interface. Imports nothing, for fast help.

Read `searcher` (the interface), `engine` (which of the two, and from which folder), `torch_searcher`, then
`ctranslate2` with `ctranslate2_writer`, `ctranslate2_library`, `exported` and `run_subword`.
"""
