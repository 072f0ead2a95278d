"""Pictures for people: what a model looks at, how it is fed and trained, and how it learned; PNG or SVG.

Each picture is two steps: something is read or computed, and a figure is drawn of it. `write_picture` puts a figure on
the disk.
"""
