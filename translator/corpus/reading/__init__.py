"""The readers of corpora: raw pairs as a stream, in place, from every form in which people have parallel text.

In reading order: `packing` (bytes of files, packed or not), `encoding` and `lines` (bytes to lines), `forms` (what a
file holds, by its name and first bytes), `languages` (codes of languages; English and Persian on the right sides),
`columns` and `tables` (rows to pairs: TSV, CSV, JSON Lines), `parquet`, `tmx`, and `pairs` (`read_pairs`, over all).
`column_texts` gives one column of a table, to be translated.
"""
