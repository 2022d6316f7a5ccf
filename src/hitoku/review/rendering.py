"""Templates: autoescaped, and strict about names that nobody gave."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hitoku.files import sha256
from hitoku.review.permissions import Role
from hitoku.review.states import OWNERS

HERE = Path(__file__).parent
# A word and a sign for every status: colour is never the only difference.
SIGNS = {"pass": "✓", "fail": "✗", "look": "?", "excepted": "!", "-": "·"}
# What was done, by the word in the address: nobody else can put words on our pages.
SAID = {
    "submitted": "Your submission is in. It is being checked now.",
    "resubmitted": "The new turn is in. It is being checked now.",
    "review-submitted": "Your review is submitted and frozen.",
    "settled": "Settled. The request is in phase 2.",
    "returned": "The request went back to the researcher.",
    "approved": "Phase 2 is finished: what you approved can be released.",
    "rejected": "Phase 2 is finished: nothing of it leaves.",
    "withdrawn": "The request is withdrawn.",
    "releasing": "The release is under way.",
    "commented": "Your comment is there.",
    "claimed": "You work on this request.",
    "unclaimed": "The request is free for others.",
    "decided": "Your decision is written down.",
    "retried": "It is tried again.",
    "policy-added": "The policy has a new version.",
    "dry-run": "The dry run is under way.",
    "person-added": "The person was added.",
    "person-changed": "Done. It holds from now on.",
}


@cache
def environment() -> Environment:
    """Return the environment of all templates."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(signs=SIGNS, owners=OWNERS, roles=list(Role), asset=asset)
    made.filters["moment"] = lambda text: text.replace("T", " ").removesuffix("Z")[:16] if text else ""
    made.filters["words"] = lambda text: str(text).replace("_", " ")
    return made


@cache
def asset(name: str) -> str:
    """Return the address of a style or script; another content has another address."""
    return f"/static/{name}?{sha256(HERE / 'static' / name)[:12]}"


def fill(template: str, **values: Any) -> str:
    """Fill a template."""
    return environment().get_template(template).render(**values)
