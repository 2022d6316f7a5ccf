"""Output checking: whether a research output is fit to leave the secure centre."""
