"""Initial schema: all tables, and triggers that keep the log append-only."""

from __future__ import annotations

from alembic import op

from hitoku.review.tables import metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# The database rejects changes of the log, except by its owner.
SQLITE = """
CREATE TRIGGER log_no_{word} BEFORE {verb} ON log BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END
"""
FUNCTION = """
CREATE FUNCTION log_refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the log is append-only'; END $$
"""
POSTGRESQL = """
CREATE TRIGGER log_no_{word} BEFORE {verb} ON log FOR EACH STATEMENT EXECUTE FUNCTION log_refuse()
"""


def upgrade() -> None:
    """Create the tables and triggers."""
    # No released version has other tables yet. The next migration lists here the tables before it.
    metadata.create_all(op.get_bind(), checkfirst=False)
    postgresql = op.get_bind().dialect.name == "postgresql"
    if postgresql:
        op.execute(FUNCTION)
    for verb in ("UPDATE", "DELETE", *(["TRUNCATE"] if postgresql else [])):
        op.execute((POSTGRESQL if postgresql else SQLITE).format(word=verb.lower(), verb=verb))
