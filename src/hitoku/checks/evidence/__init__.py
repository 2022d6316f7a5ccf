"""What the rules are computed from: collected once from the records, and enough to judge an output again."""
