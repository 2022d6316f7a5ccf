"""What several outputs about the same units give away together."""
