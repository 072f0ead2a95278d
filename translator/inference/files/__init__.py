"""Texts of files, pipes and terminals, translated block by block; and files that are translated as a whole.

Read `document` first: what a text to translate is. Then `line_reader` and `paragraphs`
(its texts), `block_translation`, and where the lines go: `file_translation` with `partial_output`, `prompt`
with `display`, in one of the `output_formats`. `whole_files` is the other way: `subtitles`, `messages`.
"""
