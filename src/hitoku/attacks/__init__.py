"""What a hostile reader can infer from a release."""
