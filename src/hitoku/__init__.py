"""Statistical disclosure control of tables: protect, attack, and prove."""
