"""Search: what is searched, and what surrounds the beam search of `core/search`: limits, samples, ensembles, loops.

Read `request` (what is searched), `constraints`, `token_sampling`, `ensemble`, `scoring`, then `loop_detection`.
"""
