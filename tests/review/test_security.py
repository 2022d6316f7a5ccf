"""What strangers, other sites and odd texts can do: nothing."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient
from tests.review.conftest import PASSWORD

from hitoku.files import sha256
from hitoku.review import (
    ACTIONS,
    COOKIE,
    DEVICE_LASTS,
    Context,
    Proxy,
    cookie_name,
    known_device,
    make_app,
    new_cookie,
    users,
    writing,
)
from hitoku.web import HERE, local_path

# Of the file as npm has it: htmx.org 2.0.11, dist/htmx.min.js.
HTMX = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
INJECTED = '<script>alert("x")</script>"\'{{ 7777*7777 }}<img src=x onerror=alert(1)>'


def test_htmx_file_matches_reviewed_hash():
    assert sha256(HERE / "static" / "htmx-2.0.11.min.js") == HTMX


def sign_in(client, login="yui", password=PASSWORD, **more):
    return client.post("/login", data={"login": login, "password": password, "next": "/queue", **more})


def test_sign_in_and_sign_out_work(centre):
    client = centre.browser()
    answer = sign_in(client)
    assert (answer.status_code, answer.headers["location"]) == (303, "/queue")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert client.get("/queue").status_code == 200
    token = client.cookies[COOKIE]
    client.headers["x-form-token"] = users.form_token(token)
    assert client.post("/logout").status_code == 303
    client.cookies.set(COOKIE, token)
    assert client.get("/queue").status_code == 303  # the session is over, not only the cookie


def test_cookie_is_secure_when_configured(centre):
    context = centre.context
    secure = Context(context.folder, context.settings.model_copy(update={"https": True}), context.engine)
    client = TestClient(make_app(secure, work=False), base_url="https://127.0.0.1", follow_redirects=False)
    assert "secure" in sign_in(client).headers["set-cookie"].lower()


def test_session_cannot_be_planted(centre):
    client = centre.browser()
    client.cookies.set(COOKIE, "chosen-by-an-attacker")
    sign_in(client)
    assert "chosen-by-an-attacker" not in client.cookies.get(COOKIE, domain="127.0.0.1")


@pytest.mark.parametrize(
    ("login", "password"), [("yui", "wrong"), ("nobody", PASSWORD), ("", ""), ("yui'--", "x")]
)
def test_wrong_password_does_not_reveal_users(centre, login, password):
    answer = sign_in(centre.browser(), login, password)
    assert answer.status_code == 422
    assert "Login and password do not fit together." in answer.text


def test_repeated_guesses_are_throttled_even_if_correct(centre):
    client = centre.browser()
    assert [sign_in(client, "yui", "wrong").status_code for _ in range(6)] == [422] * 5 + [429]
    assert sign_in(client, "yui", PASSWORD).status_code == 429
    assert sign_in(client, "sota", PASSWORD).status_code == 303  # others are not shut out


def at(centre, address):
    """Return a browser at an address, without any cookie."""
    return centre.browser(client=(address, 50_000))


def known_at(centre, address):
    """Return a browser in which yui signed in before; the session is over."""
    browser = at(centre, address)
    assert sign_in(browser, "yui").status_code == 303
    del browser.cookies[COOKIE]
    return browser


def guess(browser, login, times):
    """Send wrong passwords; return the distinct answers."""
    return {sign_in(browser, login, f"wrong {number}").status_code for number in range(times)}


def test_guesses_from_elsewhere_lock_out_no_user(centre):
    """Neither at an address of their own, nor on a device from which they signed in before."""
    known = known_at(centre, "10.0.0.1")
    assert guess(at(centre, "10.6.6.6"), "yui", 6) == {422, 429}
    assert sign_in(at(centre, "10.6.6.6"), "yui").status_code == 429
    assert sign_in(at(centre, "10.0.0.2"), "yui").status_code == 303  # another address, never seen
    for last in range(10):
        guess(at(centre, f"10.7.7.{last}"), "yui", 5)
    assert sign_in(at(centre, "10.0.0.3"), "yui").status_code == 429
    assert sign_in(known, "yui").status_code == 303
    del known.cookies[COOKIE]
    # The same behind a proxy, where everybody has one address.
    for login in ("yui", "sota", "haru", *(f"nobody {number}" for number in range(20))):
        guess(at(centre, "10.0.0.1"), login, 5)
    assert sign_in(at(centre, "10.0.0.1"), "kai").status_code == 429
    assert sign_in(known, "yui").status_code == 303


def test_guessing_from_many_addresses_is_bounded(centre):
    """From 60 addresses no more passwords are compared than from four, and the right one is not let in."""
    answers = [
        sign_in(at(centre, f"10.8.{place}.1"), "yui", f"wrong {number}").status_code
        for number in range(4)
        for place in range(60)
    ]
    assert answers.count(422) == users.MAX_PER_LOGIN
    assert answers[users.MAX_PER_LOGIN :] == [429] * (240 - users.MAX_PER_LOGIN)
    assert sign_in(at(centre, "10.9.9.9"), "yui").status_code == 429
    assert sign_in(at(centre, "10.9.9.9"), "sota").status_code == 303


def test_guessing_many_logins_from_one_address_is_bounded(centre):
    browser = at(centre, "10.6.6.6")
    answers = [sign_in(browser, f"login {n}", "wrong").status_code for n in range(users.MAX_PER_ADDRESS + 5)]
    assert answers == [422] * users.MAX_PER_ADDRESS + [429] * 5


def test_known_device_is_throttled_per_user(centre):
    known = known_at(centre, "10.0.0.1")
    assert guess(known, "yui", 5) == {422}
    assert sign_in(known, "yui").status_code == 429
    # A device of yui's counts as an unknown one for haru.
    for last in range(4):
        assert guess(at(centre, f"10.7.7.{last}"), "haru", 5) == {422}
    cookie = known.cookies[cookie_name("yui")]
    other = at(centre, "10.0.0.9")
    other.cookies.set(cookie_name("haru"), cookie, path="/login")
    assert sign_in(other, "haru").status_code == 429


def test_device_cookie_is_signed_and_expires(monkeypatch):
    cookie = new_cookie("yui", "hash of the password")
    device, issued, signature = cookie.split(".")
    assert known_device(cookie, "yui", "hash of the password") == device
    for forged in (
        "",
        "..",
        f"x{cookie}",
        f"{device}.{int(issued) + 1}.{signature}",
        f"{device}.{issued}.{'0' * 64}",
        f"{device}.{issued}.\u00e9",
    ):
        assert known_device(forged, "yui", "hash of the password") is None
    assert known_device(cookie, "haru", "hash of the password") is None
    assert known_device(cookie, "yui", "hash of another password") is None
    monkeypatch.setattr(
        "hitoku.review.users.time.time", lambda: int(issued) + DEVICE_LASTS.total_seconds() + 1
    )
    assert known_device(cookie, "yui", "hash of the password") is None


def test_device_cookie_is_limited_to_sign_in(centre):
    cookies = sign_in(centre.browser()).headers.get_list("set-cookie")
    (cookie,) = (each.lower() for each in cookies if each.startswith("hitoku_device_"))
    for word in (
        "httponly",
        "samesite=strict",
        "path=/login",
        f"max-age={int(DEVICE_LASTS.total_seconds())}",
    ):
        assert word in cookie


def test_throttling_uses_trusted_proxy_header(centre):
    context = centre.context
    behind = Context(
        context.folder, context.settings.model_copy(update={"proxies": ("10.0.0.1",)}), context.engine
    )
    app = make_app(behind, work=False)

    def client(neighbour, forwarded):
        headers = {"x-forwarded-for": forwarded}
        return TestClient(app, base_url="http://127.0.0.1", headers=headers, client=(neighbour, 1))

    # The last address is the proxy's word; what stands before it came from the browser.
    for made_up in ("1.1.1.1", "2.2.2.2", "device x", "3.3.3.3", "4.4.4.4"):
        assert sign_in(client("10.0.0.1", f"{made_up}, 10.6.6.6"), "yui", "wrong").status_code == 422
    assert sign_in(client("10.0.0.1", "9.9.9.9, 10.6.6.6"), "yui").status_code == 429
    assert sign_in(client("10.0.0.1", "10.5.5.5"), "yui", "wrong").status_code == 422
    # Of anybody else, and where it is not an address, the header counts nothing.
    for forwarded in ("1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4", "5.5.5.5"):
        assert sign_in(client("10.2.2.2", forwarded), "haru", "wrong").status_code == 422
    assert sign_in(client("10.2.2.2", "6.6.6.6"), "haru").status_code == 429
    for word in ("device a", "device b", "", "x", "device c"):
        assert sign_in(client("10.0.0.1", word), "sota", "wrong").status_code == 422
    assert sign_in(client("10.0.0.1", "device d"), "sota").status_code == 429


def test_idle_or_revoked_session_ends(centre):
    for change in ("seen = '2020-01-01T00:00:00Z'", "begun = '2020-01-01T00:00:00Z'", "ended = seen"):
        client = centre.browser("yui")
        assert client.get("/queue").status_code == 200
        with centre.context.engine.begin() as connection:
            connection.execute(sa.text(f"UPDATE session SET {change}"))  # noqa: S608 - of this test
        answer = client.get("/queue?tab=phase-2")
        assert answer.headers["location"] == "/login?next=%2Fqueue%3Ftab%3Dphase-2"


def test_disabled_user_is_signed_out_at_once(centre):
    client = centre.browser("yui")
    with writing(centre.context.engine) as connection:
        users.set_active(connection, "yui", active=False, by="aki")
    assert client.get("/queue").status_code == 303
    assert sign_in(centre.browser()).status_code == 422


def test_page_fragment_after_expiry_redirects_to_sign_in(centre):
    client = centre.browser()
    answer = client.post(
        "/outputs/1/vote", headers={"hx-request": "true", "hx-current-url": "http://127.0.0.1/outputs/1"}
    )
    assert answer.headers["hx-redirect"] == "/login?next=%2Foutputs%2F1"


def test_form_without_session_token_is_rejected(centre):
    number = centre.submit()
    for action in ACTIONS:
        if action.method == "POST" and action.may is not None:
            path = action.path.replace("{request:number}", str(number)).replace("{output:number}", "1")
            path = path.replace("{policy:number}", "1").replace("{person:number}", "1")
            for token in ("", "0" * 64, users.form_token("another session")):
                browser = centre.browser("kai")
                browser.headers["x-form-token"] = token
                answer = browser.post(path)
                assert answer.status_code == 403, action.name
                assert "not of this session" in answer.text


@pytest.mark.parametrize(
    "headers",
    [{"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}],
)
def test_form_from_other_site_is_rejected(centre, headers):
    assert centre.browser("yui").post("/logout", headers=headers).status_code == 403
    assert centre.browser().post("/login", headers=headers).status_code == 403


def test_responses_have_security_headers(centre):
    for path in ("/login", "/queue", "/nothing", "/static/review.css", "/health"):
        answer = centre.browser("yui").get(path)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert path.startswith("/static/") or answer.headers["cache-control"] == "no-store"


def test_request_for_another_host_is_rejected(centre):
    assert centre.browser("yui").get("/queue", headers={"host": "evil.example"}).status_code == 400


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/a\nb"]
)
def test_redirects_stay_within_the_site(centre, target):
    assert local_path(target) == "/"
    answer = centre.browser().post("/login", data={"login": "yui", "password": PASSWORD, "next": target})
    assert answer.headers["location"] == "/"


def test_unusual_texts_are_escaped_on_every_page(centre):
    number = centre.submit(title=INJECTED)
    with centre.context.engine.begin() as connection:
        connection.execute(sa.text("UPDATE request SET context = :t, controls = :t"), {"t": INJECTED})
        connection.execute(sa.text("UPDATE output SET name = :t"), {"t": INJECTED})
        connection.execute(
            sa.text("UPDATE person SET name = :t WHERE login IN ('ren', 'yui')"), {"t": INJECTED}
        )
    first = centre.outputs(number)[0]
    yui, kai, aki = (centre.browser(login) for login in ("yui", "kai", "aki"))
    yui.post(f"/outputs/{first}/vote", data={"choice": "change", "text": INJECTED})
    pages = [
        *(
            yui.get(path)
            for path in ("/queue", f"/requests/{number}", f"/outputs/{first}", f"/requests/{number}/pairs")
        ),
        yui.get("/queue", params={"words": INJECTED, "project": INJECTED, "tab": INJECTED, "said": INJECTED}),
        *(kai.get(path) for path in ("/log", "/statistics", "/policies", f"/requests/{number}/release")),
        kai.post("/policies", data={"text": INJECTED}),
        aki.get("/users"),
        centre.browser("ren").get("/mine"),
        centre.browser().get("/login", params={"next": INJECTED}),
        yui.get(f"/{INJECTED}"),
    ]
    for page in pages:
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
        assert str(7777 * 7777) not in page.text


def test_proxy_headers_are_trusted_by_address(centre):
    context = centre.context
    proxied = Context(
        context.folder,
        context.settings.model_copy(update={"proxy": Proxy(addresses=("10.0.0.7",))}),
        context.engine,
    )
    app = make_app(proxied, work=False)
    named = {"x-remote-user": "yui"}

    def ask(address, headers):
        client = TestClient(app, base_url="http://127.0.0.1", client=(address, 5000), follow_redirects=False)
        return client.get("/queue", headers=headers)

    assert ask("10.0.0.7", named).status_code == 200
    assert ask("10.0.0.8", named).status_code == 303
    assert ask("10.0.0.7", {"x-remote-user": "nobody"}).status_code == 303
    assert ask("10.0.0.7", {}).status_code == 303
    # Somebody else behind the same browser gets a session of their own.
    client = TestClient(app, base_url="http://127.0.0.1", client=("10.0.0.7", 5000), follow_redirects=False)
    assert "Yui Tanaka" in client.get("/queue", headers=named).text
    assert "Sota Mori" in client.get("/queue", headers={"x-remote-user": "sota"}).text


def test_metrics_are_for_this_machine_and_administrators(centre):
    def ask(address, login=None, **headers):
        client = centre.browser(login, client=(address, 5000))
        return client.get("/metrics", headers=headers)

    answer = ask("127.0.0.1")
    assert answer.status_code == 200
    assert "hitoku_requests" in answer.text
    assert ask("10.0.0.1").status_code == 404
    assert ask("127.0.0.1", **{"x-forwarded-for": "10.0.0.1"}).status_code == 404
    assert ask("10.0.0.1", "aki").status_code == 200
    assert ask("10.0.0.1", "yui").status_code == 404


def test_server_log_contains_no_user_text(centre, caplog):
    number = centre.submit(title="a secret title")
    caplog.set_level("INFO", logger="hitoku.review")
    yui = centre.browser("yui")
    yui.get(f"/requests/{number}")
    yui.get("/queue?words=secretword")
    yui.post(f"/requests/{number}/comments", data={"text": "cell N/c has 3"})
    said = caplog.text
    assert '"path": "/requests/{request:number}"' in said
    assert "secret" not in said
    assert "N/c" not in said


def test_application_log_stores_comment_hashes(centre):
    number = centre.submit()
    centre.browser("yui").post(f"/requests/{number}/comments", data={"text": "cell N/c has 3 people"})
    export = centre.browser("haru").get("/log.csv").text
    assert "has 3 people" not in export
    assert sha256(b"cell N/c has 3 people") in export


def test_internal_error_shows_no_details(centre, monkeypatch):
    def fails(*_):
        raise RuntimeError("confidential 4711")

    monkeypatch.setattr("hitoku.review.pages.administration.team_numbers", fails)
    client = TestClient(
        centre.app, base_url="http://127.0.0.1", follow_redirects=False, raise_server_exceptions=False
    )
    client.cookies = centre.browser("haru").cookies
    answer = client.get("/statistics")
    assert answer.status_code == 500
    assert "4711" not in answer.text


NUMBERS = ("9" * 9, "9" * 10, "9" * 15, "9" * 30, "9" * 5_000, "\N{SUPERSCRIPT TWO}", "-1", "1e3")


@pytest.mark.parametrize("number", NUMBERS)
def test_invalid_number_equals_missing_number(centre, number):
    """Digits that Python or the database cannot read end in a page, not in an error of the server."""
    checker, administrator = centre.browser("kai"), centre.browser("aki")
    for path in ("queue", "mine"):
        assert checker.get(f"/{path}", params={"page": number}).status_code == 200
    assert administrator.get("/log", params={"page": number, "request": number}).status_code == 200
    for path in ("requests", "outputs", "policies"):
        assert administrator.get(f"/{path}/{number}").status_code in {404, 422}
    asked = {"login": "yui", f"choice-{number}": "approve", "output": number, "project": number}
    for path in (f"/users/{number}", "/requests/1/comment", "/requests/1/settle", "/requests"):
        assert administrator.post(path, data=asked).status_code in {403, 404, 405, 409, 422}
