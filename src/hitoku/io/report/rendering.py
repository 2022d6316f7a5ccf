"""How pages are made from templates: texts are escaped, and the policy allows nothing that is not ours."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hitoku.io.content_policy import content_policy

HERE = Path(__file__).parent


def render(template: str, *, style: str, script: str = "", pictures: bool = False, **values: Any) -> str:
    """Fill a template of this folder; texts are escaped, and a name that is not given is an error."""
    policy = content_policy(style, script, pictures=pictures)
    return _environment().get_template(template).render(style=style, script=script, policy=policy, **values)


@cache
def _environment() -> Environment:
    """Return what compiles templates, each of them once."""
    return Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
