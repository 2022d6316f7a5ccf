"""Does a release meet its need, and the proof."""
