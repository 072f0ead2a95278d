"""From a text to segments that fit into a model, and from its output to a text.

Read `segments` (the order of all steps into the model), `untranslated` (what is copied), `sentences`, `long_sentences`;
then `loops` (the search), `output_text` and `joining` (the way back). `checks` compares texts before and after.
"""
