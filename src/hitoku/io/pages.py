"""HTML pages from templates, with escaped texts and a security policy for the embedded style and script.

A browser runs nothing else in the page, whatever codes the data contain, and makes no network requests.
Attributes such as ``onclick`` and ``style`` have no effect.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

# What a page shows at most: cells of a table, rows of a table or a text, entries of a list. Files beside the
# page have the rest.
MAX_CELLS, MAX_ROWS, MAX_LISTED = 20_000, 500, 50


def content_policy(style: str, script: str = "", *, pictures: bool = False) -> str:
    """Return a content security policy that allows only the given style and script, by their hashes.

    Parameters
    ----------
    style, script
        Exact content of the tags. Default: no script is allowed.
    pictures
        Whether the page has embedded pictures. Default: False.

    Examples
    --------
    >>> content_policy("")
    "default-src 'none'; style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; base-uri 'none'; form-action 'none'"
    """  # noqa: E501 - a policy is one line
    allowed = ["default-src 'none'", f"style-src {_csp_hash(style)}"]
    if script:
        allowed.append(f"script-src {_csp_hash(script)}")
    if pictures:
        allowed.append("img-src data:")
    return "; ".join([*allowed, "base-uri 'none'", "form-action 'none'"])


def _csp_hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


TEMPLATES = Path(__file__).with_name("templates")


def render(
    template: str, styles: Sequence[str], script: str = "", *, pictures: bool = False, **values: Any
) -> str:
    """Render a template with escaped texts; an undefined name is an error.

    Parameters
    ----------
    template, styles, script
        File names of the template, the styles, which are joined, and the script.
    pictures
        Whether the page has embedded pictures. Default: False.
    **values
        Values for the template.
    """
    style = "".join((TEMPLATES / name).read_text("utf-8") for name in styles)
    code = (TEMPLATES / script).read_text("utf-8") if script else ""
    policy = content_policy(style, code, pictures=pictures)
    return _environment().get_template(template).render(style=style, script=code, policy=policy, **values)


@cache
def _environment() -> Environment:
    """Return the template environment."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
