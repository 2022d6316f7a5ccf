"""Tables of the database. The log is the primary record; the other tables follow from it."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

# Constraint names are the same on every database, so that migrations can find them.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# Times are text, "2026-11-16T21:05:53Z": sortable, and the same on both databases.
MOMENT = String(20)

person = Table(
    "person",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("login", String(100), nullable=False, unique=True),
    Column("name", String(200), nullable=False),
    Column("roles", String(100), nullable=False),
    # None for users authenticated by a proxy or an identity provider.
    Column("password", String(200)),
    Column("active", Boolean, nullable=False),
)

# Sessions. The browser has the token, the database its hash.
session = Table(
    "session",
    metadata,
    Column("token", String(64), primary_key=True),
    Column("person", ForeignKey("person.id"), nullable=False),
    Column("begun", MOMENT, nullable=False),
    Column("seen", MOMENT, nullable=False),
    Column("ended", MOMENT),
)

attempt = Table(
    "attempt",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("login", String(100), nullable=False),
    Column("address", String(100), nullable=False),
    Column("at", MOMENT, nullable=False),
    Index("ix_attempt_at", "at"),
)

project = Table(
    "project",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    # Paths on the server; may be empty.
    Column("data", String(500), nullable=False),
    Column("unit", String(100), nullable=False),
    Column("ledger", String(500), nullable=False),
    Column("policy", String(100), nullable=False),
)

member = Table(
    "member",
    metadata,
    Column("project", ForeignKey("project.id"), primary_key=True),
    Column("person", ForeignKey("person.id"), primary_key=True),
)

policy = Table(
    "policy",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False),
    Column("version", String(100), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("text", Text, nullable=False),
    Column("added", MOMENT, nullable=False),
    Column("added_by", String(100), nullable=False),
    # Whether it applies to new submissions under this name.
    Column("current", Boolean, nullable=False),
    UniqueConstraint("name", "digest"),
)

request = Table(
    "request",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("project", ForeignKey("project.id"), nullable=False),
    Column("author", ForeignKey("person.id"), nullable=False),
    Column("title", String(200), nullable=False),
    Column("context", Text, nullable=False),
    Column("controls", Text, nullable=False),
    Column("state", String(20), nullable=False),
    Column("turn", Integer, nullable=False),
    Column("submitted", MOMENT, nullable=False),
    # Time of release, rejection or withdrawal.
    Column("closed", MOMENT),
    Column("claimed_by", ForeignKey("person.id")),
    # A form submitted twice creates one request.
    Column("nonce", String(64), nullable=False, unique=True),
    Index("ix_request_state", "state", "submitted"),
    Index("ix_request_author", "author"),
)

# Submissions, one for each turn.
submission = Table(
    "submission",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("request", ForeignKey("request.id"), nullable=False),
    Column("turn", Integer, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("received", MOMENT, nullable=False),
    Column("nonce", String(64), nullable=False, unique=True),
    # Numbers of outputs by verdict, and report of the check; empty before it.
    Column("passing", Integer, nullable=False),
    Column("to_review", Integer, nullable=False),
    Column("failing", Integer, nullable=False),
    Column("report", Text, nullable=False),
    UniqueConstraint("request", "turn"),
)

output = Table(
    "output",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("submission", ForeignKey("submission.id"), nullable=False),
    Column("place", Integer, nullable=False),
    Column("name", String(200), nullable=False),
    Column("kind", String(50), nullable=False),
    Column("status", String(20), nullable=False),
    # Hash of published values and evidence: equal digests mean equal outputs.
    Column("digest", String(64), nullable=False),
    Column("principles", Text, nullable=False),
    Column("cells", Integer, nullable=False),
    UniqueConstraint("submission", "place"),
)

# A user's review of one turn; frozen on submission.
review = Table(
    "review",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("submission", ForeignKey("submission.id"), nullable=False),
    Column("person", ForeignKey("person.id"), nullable=False),
    Column("submitted", MOMENT),
    UniqueConstraint("submission", "person"),
)

vote = Table(
    "vote",
    metadata,
    Column("review", ForeignKey("review.id"), primary_key=True),
    Column("output", ForeignKey("output.id"), primary_key=True),
    Column("choice", String(20), nullable=False),
    CheckConstraint("choice IN ('approve', 'change')", name="choice"),
)

# Choices on which the reviewers agreed after opening their votes.
settled = Table(
    "settled",
    metadata,
    Column("output", ForeignKey("output.id"), primary_key=True),
    Column("person", ForeignKey("person.id"), nullable=False),
    Column("choice", String(20), nullable=False),
    CheckConstraint("choice IN ('approve', 'change')", name="choice"),
)

# Decisions of phase 2.
decision = Table(
    "decision",
    metadata,
    Column("output", ForeignKey("output.id"), primary_key=True),
    Column("person", ForeignKey("person.id"), nullable=False),
    Column("choice", String(20), nullable=False),
    # Reason for the researcher; on the receipt, with the facts.
    Column("reason", Text, nullable=False),
    Column("facts", Text, nullable=False),
    # Suppressed cells to release, by their codes, and expiry date.
    Column("cells", Text, nullable=False),
    Column("expires", String(10)),
    Column("decided", MOMENT, nullable=False),
    CheckConstraint("choice IN ('approve', 'refuse')", name="choice"),
)

comment = Table(
    "comment",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("request", ForeignKey("request.id"), nullable=False),
    Column("output", ForeignKey("output.id")),
    Column("person", ForeignKey("person.id"), nullable=False),
    Column("turn", Integer, nullable=False),
    # Written before votes were opened: hidden from other reviewers until then.
    Column("independent", Boolean, nullable=False),
    Column("public", Boolean, nullable=False),
    Column("at", MOMENT, nullable=False),
    Column("text", Text, nullable=False),
    Index("ix_comment_request", "request"),
)

# Background jobs: check, release, dry run. One of each kind for each subject.
job = Table(
    "job",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("subject", Integer, nullable=False),
    Column("state", String(20), nullable=False),
    Column("asked", MOMENT, nullable=False),
    Column("asked_by", ForeignKey("person.id")),
    Column("beat", MOMENT),
    Column("attempts", Integer, nullable=False),
    Column("done", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("said", Text, nullable=False),
    UniqueConstraint("kind", "subject"),
    Index("ix_job_state", "state"),
)

release = Table(
    "release",
    metadata,
    Column("request", ForeignKey("request.id"), primary_key=True),
    Column("submission", ForeignKey("submission.id"), nullable=False),
    Column("person", ForeignKey("person.id"), nullable=False),
    Column("at", MOMENT, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("head", String(64), nullable=False),
    Column("entries", Integer, nullable=False),
)

# Append-only and chained: the database rejects changes, and the chain reveals those by its owner.
log = Table(
    "log",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", MOMENT, nullable=False),
    Column("who", String(100), nullable=False),
    Column("event", String(40), nullable=False),
    Column("request", Integer),
    Column("body", Text, nullable=False),
    Column("before", String(64), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Index("ix_log_request", "request"),
)
