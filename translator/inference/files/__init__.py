"""Texts of files, pipes and terminals, translated block by block.

Read `document` first: what a text to translate is, and the place for other kinds. Then `line_reader` and `paragraphs`
(its texts), `block_translation`, and where the lines go: `file_translation` with `partial_output`, `stream`, `prompt`
with `display`, in one of the `output_formats`.
"""
