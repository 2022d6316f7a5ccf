"""Signing in through an identity provider: one on loopback that is honest, or lies in one way at a time."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
import sqlalchemy as sa
from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey
from tests.review.conftest import Centre

from hitoku.errors import DataError, ParameterError
from hitoku.review import COOKIE, Begun, Context, Oidc, Provider, require_safe

CLIENT, SECRET = "review", "a secret of ours"
BACK = "http://127.0.0.1/oidc/callback"


@pytest.fixture(scope="module")
def keys():
    """Two keys: the provider's, and that of somebody else who uses its number."""
    return [RSAKey.generate_key(2048, {"kid": "one"}) for _ in range(2)]


class Fake:
    """A provider; what it says about somebody can be changed before it is signed."""

    def __init__(self, keys):
        self.key, self.stranger = keys
        self.claims, self.header, self.signer = {}, {"alg": "RS256", "kid": "one"}, self.key
        self.description, self.codes, self.refusals = {}, {}, []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                self._send(provider.get(urlsplit(self.path).path))

            def do_POST(self):
                form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
                self._send(provider.token(form, self.headers.get("authorization", "")))

            def _send(self, content):
                body = json.dumps(content).encode()
                self.send_response(200 if content else 400)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def get(self, path):
        if path == "/keys":
            return KeySet([self.key]).as_dict(private=False)
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            **self.description,
        }

    def sign_in(self, address, login):
        """Do what a person does there; return the address that the browser is sent back to."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert asked["redirect_uri"] == BACK
        assert asked["code_challenge_method"] == "S256"
        self.codes["a code"] = {**asked, "login": login}
        return f"/oidc/callback?code=a+code&state={asked['state']}"

    def token(self, form, authorisation):
        asked = self.codes.pop(form["code"][0], None)
        ours = base64.b64encode(f"{CLIENT}:{SECRET.replace(' ', '%20')}".encode()).decode()
        digest = hashlib.sha256(form["code_verifier"][0].encode()).digest()
        if asked is None or authorisation != f"Basic {ours}":
            return {}
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            return {}
        at = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "4711",
            "iat": at,
            "exp": at + 300,
            "nonce": asked["nonce"],
            "preferred_username": asked["login"],
            **self.claims,
        }
        kept = {name: value for name, value in claims.items() if value is not None}
        return {"id_token": jwt.encode(self.header, kept, self.signer, algorithms=["RS256", "HS256"])}


@pytest.fixture
def fake(keys):
    made = Fake(keys)
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def elsewhere(context, submission, fake, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n", "utf-8")
    oidc = Oidc(issuer=fake.issuer, client=CLIENT, secret_file=str(secret), redirect=BACK)
    settings = context.settings.model_copy(update={"oidc": oidc})
    return Centre(Context(context.folder, settings, context.engine), submission)


def begin(centre, path="/oidc/begin?next=/policies"):
    browser = centre.browser()
    answer = browser.get(path)
    assert answer.status_code == 303
    return browser, answer.headers["location"]


def test_known_identity_is_signed_in_and_redirected(elsewhere, fake):
    assert "/oidc/begin" in elsewhere.browser().get("/login").text
    browser, address = begin(elsewhere)
    answer = browser.get(fake.sign_in(address, "yui"))
    assert (answer.status_code, answer.headers["location"]) == (303, "/policies")
    assert "Yui Tanaka" in browser.get("/queue").text
    with elsewhere.context.engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM log WHERE event = 'signed in'")) == 1


@pytest.mark.parametrize(
    ("lie", "word"),
    [
        pytest.param({"claims": {"nonce": "of another sign-in"}}, "is invalid", id="replayed"),
        pytest.param({"claims": {"aud": "another"}}, "is invalid", id="for another"),
        pytest.param({"claims": {"aud": [CLIENT, "b"], "azp": "b"}}, "another user", id="asked by another"),
        pytest.param({"claims": {"iss": "https://evil.example"}}, "is invalid", id="by another"),
        pytest.param({"claims": {"exp": 1_000_000_000}}, "is invalid", id="of long ago"),
        pytest.param({"claims": {"exp": None}}, "is invalid", id="for ever"),
        pytest.param({"claims": {"nonce": None}}, "is invalid", id="without nonce"),
        pytest.param({"claims": {"preferred_username": None}}, "has no", id="about nobody"),
        pytest.param({"claims": {"preferred_username": "eve"}}, "not one of the users", id="a stranger"),
        pytest.param({"signer": "stranger"}, "is invalid", id="signed by a stranger"),
        pytest.param({"header": {"alg": "HS256"}}, "is invalid", id="signed with what is public"),
        pytest.param({"description": {"issuer": "https://evil.example"}}, "not of this", id="another issuer"),
        pytest.param({"description": {"token_endpoint": "http://evil.example/"}}, "https", id="in the open"),
    ],
)
def test_invalid_identity_token_signs_in_nobody(elsewhere, fake, lie, word):
    browser, address = begin(elsewhere)
    back = fake.sign_in(address, "yui")
    fake.claims, fake.header = lie.get("claims", {}), lie.get("header", fake.header)
    if "signer" in lie:
        fake.signer = fake.stranger
    if fake.header["alg"] == "HS256":
        public = json.dumps(fake.key.as_dict(private=False)).encode()
        fake.signer = OctKey.import_key(public)
    if "description" in lie:
        fake.description = lie["description"]
        elsewhere.app.state.provider = Provider(elsewhere.context.settings.oidc)
    answer = browser.get(back)
    assert answer.status_code == 422
    assert word in answer.text
    assert COOKIE not in browser.cookies


def test_other_browser_cannot_complete_sign_in(elsewhere, fake):
    _, address = begin(elsewhere)
    back = fake.sign_in(address, "yui")
    other, _ = begin(elsewhere)
    for browser in (elsewhere.browser(), other):
        assert "not begun here" in browser.get(back).text
        assert COOKIE not in browser.cookies


def test_authorisation_code_works_once_with_its_verifier(elsewhere, fake):
    browser, address = begin(elsewhere)
    back = fake.sign_in(address, "yui")
    kept = dict(fake.codes)
    assert browser.get(back).status_code == 303
    provider = elsewhere.app.state.provider
    with pytest.raises(DataError, match="unexpected answer"):
        provider.login("a code", Begun.fresh())
    fake.codes = kept
    with pytest.raises(DataError, match="unexpected answer"):
        provider.login("a code", Begun.fresh())


def test_disabled_user_cannot_sign_in(elsewhere, fake):
    with elsewhere.context.engine.begin() as connection:
        connection.execute(sa.text("UPDATE person SET active = :no WHERE login = 'yui'"), {"no": False})
    browser, address = begin(elsewhere)
    assert "not one of the users" in browser.get(fake.sign_in(address, "yui")).text


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example/", "/\\evil.example"])
def test_sign_in_redirects_only_within_the_site(elsewhere, fake, target):
    browser = elsewhere.browser()
    answer = browser.get("/oidc/begin", params={"next": target})
    back = browser.get(fake.sign_in(answer.headers["location"], "yui"))
    assert back.headers["location"] == "/"


def test_sign_in_without_provider_is_not_offered(centre):
    assert "/oidc/begin" not in centre.browser().get("/login").text
    assert centre.browser().get("/oidc/begin").status_code == 422
    assert centre.browser().get("/oidc/callback?code=1&state=2").status_code == 422


def test_unencrypted_address_raises():
    require_safe("https://id.enclave.example/")
    require_safe("http://127.0.0.1:8080/")
    for address in ("http://id.enclave.example/", "file:///etc/passwd", "ftp://127.0.0.1/"):
        with pytest.raises(ParameterError, match="https"):
            require_safe(address)
