"""Sign-in through an identity provider: OpenID Connect, authorisation code with PKCE.

The provider identifies users; the application decides who has access and with which roles.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from hitoku.errors import DataError, HitokuError, ParameterError
from hitoku.files import MAX_TEXT_BYTES, read_file
from hitoku.review.context import Oidc

# Time limit of a response of the provider.
PATIENCE = timedelta(seconds=10)
# Cache duration of its metadata and keys, and permitted clock difference, in seconds.
FRESH, LEEWAY = timedelta(minutes=10), timedelta(minutes=1)
# Public-key signatures only: "none" and shared secrets do not authenticate the provider.
ALGORITHMS = ("RS256", "PS256", "ES256", "ES384", "EdDSA")


@dataclass(frozen=True, slots=True)
class Begun:
    """Secrets that the browser keeps during a sign-in at the provider."""

    state: str  # Returned in the redirect: binds the response to this browser.
    nonce: str  # Returned in the token: binds the token to this sign-in.
    verifier: str  # PKCE verifier; its hash is sent first, so that an intercepted code is useless.

    @classmethod
    def fresh(cls) -> Begun:
        """Create three random secrets."""
        return cls(*(secrets.token_urlsafe(32) for _ in range(3)))

    def packed(self) -> str:
        """Return the content of the cookie."""
        return f"{self.state}.{self.nonce}.{self.verifier}"

    @classmethod
    def unpacked(cls, text: str) -> Begun | None:
        """Parse a cookie; None if it is malformed."""
        parts = text.split(".")
        return cls(*parts) if len(parts) == 3 and all(parts) else None


class Provider:
    """Identity provider, configured from its published metadata.

    Parameters
    ----------
    settings
        Settings of the provider.
    """

    def __init__(self, settings: Oidc) -> None:
        self.settings = settings
        self._known: dict[str, tuple[float, Mapping[str, Any]]] = {}

    def address(self, begun: Begun) -> str:
        """Return the address of the provider's sign-in page."""
        digest = hashlib.sha256(begun.verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self.settings.client,
            "redirect_uri": self.settings.redirect,
            "scope": "openid profile",
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return f"{self._metadata_address('authorization_endpoint')}?{urlencode(asked)}"

    def login(self, code: str, begun: Begun) -> str:
        """Exchange the code for a token, verify it, and return the login."""
        sent = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.settings.redirect,
            "code_verifier": begun.verifier,
        }
        answer = _fetch(self._metadata_address("token_endpoint"), sent, self._authorisation())
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise _oidc_error("it sent no token")
        claims = self._verify_token(token, begun.nonce)
        login = claims.get(self.settings.claim)
        if not isinstance(login, str) or not login:
            raise _oidc_error(f"its token has no {self.settings.claim!r}")
        return login

    def _verify_token(self, token: str, nonce: str) -> Mapping[str, Any]:
        """Return the claims of a token after verifying signature, issuer, audience, time and nonce."""
        from joserfc import jwt  # noqa: PLC0415 - of the extra oidc
        from joserfc.errors import JoseError  # noqa: PLC0415
        from joserfc.jwk import KeySet  # noqa: PLC0415

        keys = self._fetch_cached(self._metadata_address("jwks_uri"))
        try:
            found = jwt.decode(token, KeySet.import_key_set(keys), algorithms=list(ALGORITHMS))  # type: ignore[arg-type]
            jwt.JWTClaimsRegistry(
                leeway=int(LEEWAY.total_seconds()),
                iss={"essential": True, "value": self.settings.issuer},
                aud={"essential": True, "value": self.settings.client},
                exp={"essential": True},
                iat={"essential": True},
                nonce={"essential": True, "value": nonce},
            ).validate(found.claims)
        except (JoseError, ValueError, KeyError, TypeError) as error:
            raise _oidc_error("its token is invalid") from error
        if found.claims.get("azp", self.settings.client) != self.settings.client:
            raise _oidc_error("its token is for another user")
        return found.claims

    def _metadata_address(self, name: str) -> str:
        """Return an address from the provider's metadata."""
        found = self._fetch_cached(f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration")
        address = found.get(name)
        if found.get("issuer") != self.settings.issuer or not isinstance(address, str):
            raise _oidc_error("its description is not of this issuer")
        require_safe(address)
        return address

    def _fetch_cached(self, address: str) -> Mapping[str, Any]:
        at, found = self._known.get(address, (0.0, {}))
        if time.monotonic() - at > FRESH.total_seconds() or not found:
            found = _fetch(address)
            self._known[address] = (time.monotonic(), found)
        return found

    def _authorisation(self) -> str:
        secret = read_file(Path(self.settings.secret_file), 10_000).decode("utf-8").strip()
        both = f"{quote(self.settings.client, safe='')}:{quote(secret, safe='')}"
        return f"Basic {b64encode(both.encode()).decode()}"


def require_safe(address: str) -> None:
    """Raise an error for an address that is neither https nor on this machine."""
    parts = urlsplit(address)
    near = parts.hostname in {"127.0.0.1", "localhost", "::1"}
    if not (parts.scheme == "https" or (parts.scheme == "http" and near)):
        raise ParameterError(
            "identity_provider_without_https",
            "the identity provider is not reached by https",
            where="oidc",
            fix="https://...",
        )


class _Stay(urllib.request.HTTPRedirectHandler):
    """Reject redirects, so that secrets are not sent elsewhere."""

    def redirect_request(self, *_args: Any, **_options: Any) -> None:
        return None


def _fetch(address: str, form: Mapping[str, str] | None = None, authorisation: str = "") -> Mapping[str, Any]:
    require_safe(address)
    asked = urllib.request.Request(address, headers={"Accept": "application/json"})  # noqa: S310 - looked at above
    if form is not None:
        asked.data = urlencode(form).encode()
        asked.add_header("Authorization", authorisation)
    try:
        with urllib.request.build_opener(_Stay).open(asked, timeout=PATIENCE.total_seconds()) as answer:
            found = json.loads(answer.read(MAX_TEXT_BYTES))
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise DataError(
            "identity_provider_answer",
            "unexpected answer of the identity provider",
            where="oidc",
            fix="try again, or tell the administrator",
        ) from error
    if not isinstance(found, dict):
        raise _oidc_error("its answer is not an object")
    return found


def _oidc_error(why: str) -> HitokuError:
    return DataError(
        "identity_not_accepted",
        "the answer of the identity provider was rejected: {reason}",
        where="oidc",
        fix="sign in again",
        reason=why,
    )
