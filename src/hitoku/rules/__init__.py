"""Primary rules: which cells must not be published."""
