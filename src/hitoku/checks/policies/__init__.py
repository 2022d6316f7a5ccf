"""Policies, one TOML file each: the numbers behind the principles, with a name and a version."""
