"""The vocabulary: what a table is, what it needs, what was decided, what an outsider sees."""
