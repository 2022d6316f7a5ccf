"""Devices from which people signed in before, known by a signed cookie.

Wrong passwords that are sent from elsewhere do not count there.

The cookie is signed with the hash of the person's password, which only the database has: another password
makes every cookie of the person invalid, and nothing has to be stored.
"""

from __future__ import annotations

import hmac
import secrets
import time

from hitoku.files import sha256

DAYS = 180


def cookie_name(login: str) -> str:
    """Return the name of the cookie for a login: several people may use one browser."""
    return f"hitoku_device_{sha256(login.encode())[:16]}"


def new_cookie(login: str, hashed: str) -> str:
    """Return a cookie for a device from which a person just signed in.

    Parameters
    ----------
    login
        Login of the person.
    hashed
        Hash of their password, the key of the signature.
    """
    content = f"{secrets.token_urlsafe(12)}.{int(time.time())}"
    return f"{content}.{_signature(login, content, hashed)}"


def known_device(cookie: str, login: str, hashed: str) -> str | None:
    """Return the name of the device that a cookie was given to; None if it is not ours, or too old."""
    content, _, signature = cookie.rpartition(".")
    # Characters beyond ASCII cannot be compared in constant time, and we never wrote any.
    if not cookie.isascii() or not hmac.compare_digest(signature, _signature(login, content, hashed)):
        return None
    device, _, issued = content.partition(".")
    return device if time.time() - int(issued) < DAYS * 86_400 else None


def _signature(login: str, content: str, hashed: str) -> str:
    return hmac.new(hashed.encode(), f"device {login} {content}".encode(), "sha256").hexdigest()
