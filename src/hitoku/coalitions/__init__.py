"""Contributors as attackers, for those who hold the true table: who they are, and what they can infer."""
