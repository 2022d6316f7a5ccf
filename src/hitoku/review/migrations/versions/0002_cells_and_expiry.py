"""Decisions of phase 2 may name cells, and may expire."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add two columns; decisions made before name no cells and do not expire."""
    op.add_column("decision", sa.Column("cells", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("decision", sa.Column("expires", sa.String(length=10)))
