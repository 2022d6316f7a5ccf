"""The first form: people, requests, reviews, decisions, jobs, the log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# The log takes no change: the database refuses it from everybody but its owner.
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
    """Make the tables and guard the log."""
    _tables()
    postgresql = op.get_bind().dialect.name == "postgresql"
    if postgresql:
        op.execute(FUNCTION)
    for verb in ("UPDATE", "DELETE", *(["TRUNCATE"] if postgresql else [])):
        op.execute((POSTGRESQL if postgresql else SQLITE).format(word=verb.lower(), verb=verb))


def _tables() -> None:
    op.create_table(
        "attempt",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("login", sa.String(length=100), nullable=False),
        sa.Column("address", sa.String(length=100), nullable=False),
        sa.Column("at", sa.String(length=20), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempt")),
    )
    op.create_index("ix_attempt_at", "attempt", ["at"], unique=False)
    op.create_table(
        "log",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.String(length=20), nullable=False),
        sa.Column("who", sa.String(length=100), nullable=False),
        sa.Column("event", sa.String(length=40), nullable=False),
        sa.Column("request", sa.Integer(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("before", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_log")),
        sa.UniqueConstraint("digest", name=op.f("uq_log_digest")),
    )
    op.create_index("ix_log_request", "log", ["request"], unique=False)
    op.create_table(
        "person",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("login", sa.String(length=100), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("roles", sa.String(length=100), nullable=False),
        sa.Column("password", sa.String(length=200), nullable=True),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_person")),
        sa.UniqueConstraint("login", name=op.f("uq_person_login")),
    )
    op.create_table(
        "policy",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("version", sa.String(length=100), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("added", sa.String(length=20), nullable=False),
        sa.Column("added_by", sa.String(length=100), nullable=False),
        sa.Column("current", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_policy")),
        sa.UniqueConstraint("name", "digest", name=op.f("uq_policy_name_digest")),
    )
    op.create_table(
        "project",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("data", sa.String(length=500), nullable=False),
        sa.Column("unit", sa.String(length=100), nullable=False),
        sa.Column("ledger", sa.String(length=500), nullable=False),
        sa.Column("policy", sa.String(length=100), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project")),
        sa.UniqueConstraint("name", name=op.f("uq_project_name")),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("subject", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("asked", sa.String(length=20), nullable=False),
        sa.Column("asked_by", sa.Integer(), nullable=True),
        sa.Column("beat", sa.String(length=20), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["asked_by"], ["person.id"], name=op.f("fk_job_asked_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
        sa.UniqueConstraint("kind", "subject", name=op.f("uq_job_kind_subject")),
    )
    op.create_index("ix_job_state", "job", ["state"], unique=False)
    op.create_table(
        "member",
        sa.Column("project", sa.Integer(), nullable=False),
        sa.Column("person", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name=op.f("fk_member_person")),
        sa.ForeignKeyConstraint(["project"], ["project.id"], name=op.f("fk_member_project")),
        sa.PrimaryKeyConstraint("project", "person", name=op.f("pk_member")),
    )
    op.create_table(
        "request",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project", sa.Integer(), nullable=False),
        sa.Column("author", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("controls", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("submitted", sa.String(length=20), nullable=False),
        sa.Column("closed", sa.String(length=20), nullable=True),
        sa.Column("claimed_by", sa.Integer(), nullable=True),
        sa.Column("nonce", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["author"], ["person.id"], name=op.f("fk_request_author")),
        sa.ForeignKeyConstraint(["claimed_by"], ["person.id"], name=op.f("fk_request_claimed_by")),
        sa.ForeignKeyConstraint(["project"], ["project.id"], name=op.f("fk_request_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_request")),
        sa.UniqueConstraint("nonce", name=op.f("uq_request_nonce")),
    )
    op.create_index("ix_request_author", "request", ["author"], unique=False)
    op.create_index("ix_request_state", "request", ["state", "submitted"], unique=False)
    op.create_table(
        "session",
        sa.Column("token", sa.String(length=64), nullable=False),
        sa.Column("person", sa.Integer(), nullable=False),
        sa.Column("begun", sa.String(length=20), nullable=False),
        sa.Column("seen", sa.String(length=20), nullable=False),
        sa.Column("ended", sa.String(length=20), nullable=True),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name=op.f("fk_session_person")),
        sa.PrimaryKeyConstraint("token", name=op.f("pk_session")),
    )
    op.create_table(
        "submission",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("request", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("received", sa.String(length=20), nullable=False),
        sa.Column("nonce", sa.String(length=64), nullable=False),
        sa.Column("passing", sa.Integer(), nullable=False),
        sa.Column("looking", sa.Integer(), nullable=False),
        sa.Column("failing", sa.Integer(), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["request"], ["request.id"], name=op.f("fk_submission_request")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submission")),
        sa.UniqueConstraint("nonce", name=op.f("uq_submission_nonce")),
        sa.UniqueConstraint("request", "turn", name=op.f("uq_submission_request_turn")),
    )
    op.create_table(
        "output",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("submission", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=50), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("principles", sa.Text(), nullable=False),
        sa.Column("cells", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["submission"], ["submission.id"], name=op.f("fk_output_submission")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_output")),
        sa.UniqueConstraint("submission", "place", name=op.f("uq_output_submission_place")),
    )
    op.create_table(
        "release",
        sa.Column("request", sa.Integer(), nullable=False),
        sa.Column("submission", sa.Integer(), nullable=False),
        sa.Column("person", sa.Integer(), nullable=False),
        sa.Column("at", sa.String(length=20), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("head", sa.String(length=64), nullable=False),
        sa.Column("entries", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name=op.f("fk_release_person")),
        sa.ForeignKeyConstraint(["request"], ["request.id"], name=op.f("fk_release_request")),
        sa.ForeignKeyConstraint(["submission"], ["submission.id"], name=op.f("fk_release_submission")),
        sa.PrimaryKeyConstraint("request", name=op.f("pk_release")),
    )
    op.create_table(
        "review",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("submission", sa.Integer(), nullable=False),
        sa.Column("person", sa.Integer(), nullable=False),
        sa.Column("submitted", sa.String(length=20), nullable=True),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name=op.f("fk_review_person")),
        sa.ForeignKeyConstraint(["submission"], ["submission.id"], name=op.f("fk_review_submission")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_review")),
        sa.UniqueConstraint("submission", "person", name=op.f("uq_review_submission_person")),
    )
    op.create_table(
        "comment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("request", sa.Integer(), nullable=False),
        sa.Column("output", sa.Integer(), nullable=True),
        sa.Column("person", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("independent", sa.Boolean(), nullable=False),
        sa.Column("public", sa.Boolean(), nullable=False),
        sa.Column("at", sa.String(length=20), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["output"], ["output.id"], name=op.f("fk_comment_output")),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name=op.f("fk_comment_person")),
        sa.ForeignKeyConstraint(["request"], ["request.id"], name=op.f("fk_comment_request")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comment")),
    )
    op.create_index("ix_comment_request", "comment", ["request"], unique=False)
    op.create_table(
        "decision",
        sa.Column("output", sa.Integer(), nullable=False),
        sa.Column("person", sa.Integer(), nullable=False),
        sa.Column("choice", sa.String(length=20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("decided", sa.String(length=20), nullable=False),
        sa.CheckConstraint("choice IN ('approve', 'refuse')", name=op.f("ck_decision_choice")),
        sa.ForeignKeyConstraint(["output"], ["output.id"], name=op.f("fk_decision_output")),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name=op.f("fk_decision_person")),
        sa.PrimaryKeyConstraint("output", name=op.f("pk_decision")),
    )
    op.create_table(
        "settled",
        sa.Column("output", sa.Integer(), nullable=False),
        sa.Column("person", sa.Integer(), nullable=False),
        sa.Column("choice", sa.String(length=20), nullable=False),
        sa.CheckConstraint("choice IN ('approve', 'change')", name=op.f("ck_settled_choice")),
        sa.ForeignKeyConstraint(["output"], ["output.id"], name=op.f("fk_settled_output")),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name=op.f("fk_settled_person")),
        sa.PrimaryKeyConstraint("output", name=op.f("pk_settled")),
    )
    op.create_table(
        "vote",
        sa.Column("review", sa.Integer(), nullable=False),
        sa.Column("output", sa.Integer(), nullable=False),
        sa.Column("choice", sa.String(length=20), nullable=False),
        sa.CheckConstraint("choice IN ('approve', 'change')", name=op.f("ck_vote_choice")),
        sa.ForeignKeyConstraint(["output"], ["output.id"], name=op.f("fk_vote_output")),
        sa.ForeignKeyConstraint(["review"], ["review.id"], name=op.f("fk_vote_review")),
        sa.PrimaryKeyConstraint("review", "output", name=op.f("pk_vote")),
    )
