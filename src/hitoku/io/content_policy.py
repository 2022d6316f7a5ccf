"""The security policy of every page we write: our own style and script, by their hashes, and nothing else.

A browser then runs nothing else in the page, whatever a code of the data may contain, and asks nobody.
Attributes such as ``onclick`` and ``style`` have no effect.
"""

from __future__ import annotations

import base64
import hashlib


def content_policy(style: str, script: str = "", *, pictures: bool = False) -> str:
    """Forbid everything but our own style and script, which are named by their hashes.

    Parameters
    ----------
    style, script
        What stands between the tags, to the byte; no script is allowed where there is none.
    pictures
        The page holds pictures, inside its own text.

    Examples
    --------
    >>> content_policy("")
    "default-src 'none'; style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; base-uri 'none'; form-action 'none'"
    """  # noqa: E501 - a policy is one line
    allowed = ["default-src 'none'", f"style-src {_named(style)}"]
    if script:
        allowed.append(f"script-src {_named(script)}")
    if pictures:
        allowed.append("img-src data:")
    return "; ".join([*allowed, "base-uri 'none'", "form-action 'none'"])


def _named(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
