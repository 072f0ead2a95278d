"""Mistakes in translations that can be counted automatically, each with a check that finds it in one sentence."""
