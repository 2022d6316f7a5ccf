"""Every role's day in a real browser: by mouse, by keyboard alone, two at once, and when things go wrong."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from importlib import resources

import pytest
import sqlalchemy as sa
import uvicorn
from tests.review.conftest import PASSWORD, packed

pytestmark = pytest.mark.browser
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


@pytest.fixture(scope="module")
def chromium():
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine (Debian: apt install chromium)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def site(centre):
    """Serve the centre on loopback."""
    if centre.context.engine.dialect.name != "sqlite":
        pytest.skip("browsers see the same pages on every database")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = uvicorn.Config(centre.app, host="127.0.0.1", port=port, log_level="error", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(timeout=20)


class People:
    """Browsers of people, one each; whatever a console says is kept."""

    def __init__(self, chromium, site):
        self.chromium, self.site, self.said, self.contexts = chromium, site, [], []

    def page(self, login=None, width=1400, **options):
        context = self.chromium.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(20_000)
        self.contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(f"{self.site}/login")
        if login:
            page.get_by_label("Login").fill(login)
            page.get_by_label("Password").fill(PASSWORD)
            page.keyboard.press("Enter")
            page.wait_for_url(lambda url: "/login" not in url)
        return page

    def quiet(self):
        """Say what consoles said, but for refusals that a test asked for."""
        return [text for text in self.said if "Failed to load resource" not in text]


@pytest.fixture
def somebody(chromium, site):
    made = People(chromium, site)
    yield made
    for context in made.contexts:
        context.close()


def test_checker_workflow_works_by_keyboard(centre, somebody):
    number = centre.submit()
    page = somebody.page("yui")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/requests/{number}")
    page.keyboard.press("c")
    page.wait_for_url("**said=claimed")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/outputs/*")
    # Into the table: arrows and Enter tell about a cell, a number changes the layer.
    page.locator("[data-grid] td[tabindex='0']").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    sync_api.expect(page.locator("#drawer")).to_contain_text("region=N, job=c")
    sync_api.expect(page.locator("#drawer")).to_contain_text("3 units are behind it")
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("2")
    sync_api.expect(page.locator("#grid [aria-current]")).to_contain_text("Units")
    page.keyboard.press("a")
    sync_api.expect(page.locator("#ballot")).to_contain_text("1 of 3 voted")
    page.keyboard.press("n")
    page.wait_for_url(f"**/outputs/{centre.outputs(number)[1]}")
    page.keyboard.press("a")
    sync_api.expect(page.locator("#ballot")).to_contain_text("2 of 3 voted")
    page.keyboard.press("n")
    page.wait_for_url(f"**/outputs/{centre.outputs(number)[2]}")
    page.keyboard.press("x")
    page.keyboard.type("round the means")
    page.keyboard.press("Control+Enter")
    sync_api.expect(page.locator("#ballot")).to_contain_text("3 of 3 voted")
    page.locator("#ballot button").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**said=review-submitted")
    sync_api.expect(page.locator("#ballot")).to_contain_text("frozen")
    assert somebody.quiet() == []


def test_all_roles_work_by_mouse_concurrently(centre, somebody, tmp_path):
    archive = tmp_path / "wages.zip"
    archive.write_bytes(packed(centre.submission / "first"))
    ren = somebody.page("ren")
    ren.get_by_role("link", name="New request").click()
    ren.get_by_label("Title").fill("Wages by region")
    ren.get_by_label("Context").fill("people of three regions")
    ren.get_by_label("Controls").fill("small cells are withheld")
    ren.get_by_label("Submission").set_input_files(archive)
    ren.get_by_role("button", name="Submit", exact=True).dblclick()
    ren.wait_for_url("**/requests/1?said=submitted")
    sync_api.expect(ren.locator("#progress")).to_contain_text("waiting for the worker")
    centre.check(1, centre.submission / "first-check")
    sync_api.expect(ren.locator("h1")).to_contain_text("Wages by region")
    sync_api.expect(ren.locator(".state").first).to_have_text("phase 1")  # the page came anew by itself
    yui, sota = somebody.page("yui"), somebody.page("sota")
    for page in (yui, sota):
        page.get_by_role("link", name="Wages by region").click()
    for row in range(3):  # in turn, on the same page
        for page in (yui, sota):
            page.locator("tbody [data-line]").nth(row).get_by_role("button", name="Approve").click()
    for page in (yui, sota):
        sync_api.expect(page.locator("#ballot")).to_contain_text("3 of 3 voted")
        assert "Yui" not in page.locator("main").inner_text()
        page.get_by_role("button", name="Submit my review").dblclick()
        page.wait_for_url("**said=review-submitted")
    sota.get_by_role("button", name="Settle: to phase 2").click()
    sota.wait_for_url("**said=settled")
    # The other reviewer still has the old page: their click is refused with a word, not done twice.
    yui.go_back()
    haru = somebody.page("haru")
    haru.get_by_role("link", name="Wages by region").click()
    sync_api.expect(haru.get_by_role("button", name="Finish phase 2")).to_be_disabled()
    haru.get_by_role("button", name="Approve all (all checks passed)").click()
    haru.get_by_role("button", name="Finish phase 2").dblclick()
    haru.wait_for_url("**said=approved")
    assert centre.state(1) == "approved"
    with centre.context.engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM request")) == 1
        assert connection.scalar(sa.text("SELECT count(*) FROM log WHERE event = 'approve'")) == 1
    aki = somebody.page("aki")
    aki.get_by_role("link", name="Users").click()
    aki.get_by_role("row", name="Emi Ono").get_by_role("button", name="Disable").click()
    sync_api.expect(aki.get_by_role("row", name="Emi Ono")).to_contain_text("disabled")
    assert somebody.quiet() == []


def tab_to(page, name):
    """Press Tab until something of a name has the focus, as somebody without a mouse does."""
    for _ in range(120):
        page.keyboard.press("Tab")
        at = page.evaluate(
            "(() => { const a = document.activeElement; return (a.labels && a.labels.length ? "
            "a.labels[0].innerText : a.getAttribute('aria-label') || a.innerText || '').trim(); })()"
        )
        if at.split("\n")[0].startswith(name):
            return
    raise AssertionError(f"no way to {name!r} by Tab")


def press(page, name):
    tab_to(page, name)
    page.keyboard.press("Enter")


def test_other_roles_work_by_keyboard(centre, somebody, tmp_path):
    archive = tmp_path / "wages.zip"
    archive.write_bytes(packed(centre.submission / "first"))
    ren = somebody.page("ren")
    press(ren, "New request")
    ren.wait_for_url("**/new")
    for label, text in (("Title", "Wages"), ("Context", "people"), ("Controls", "withheld cells")):
        tab_to(ren, label)
        ren.keyboard.type(text)
    tab_to(ren, "Submission")
    # The system's own dialog opens here; what it would return is put in its place.
    ren.get_by_label("Submission").set_input_files(archive)
    press(ren, "Submit")
    ren.wait_for_url("**/requests/1?said=submitted")
    centre.check(1, centre.submission / "first-check")
    for login in ("yui", "sota"):
        centre.vote(1, login, ["approve"] * 3)
    centre.browser("yui").post("/requests/1/settle")
    haru = somebody.page("haru")
    haru.keyboard.press("j")
    haru.keyboard.press("Enter")
    haru.wait_for_url("**/requests/1")
    haru.keyboard.press("j")
    haru.keyboard.press("Enter")
    haru.wait_for_url("**/outputs/*")
    tab_to(haru, "Reason, for the researcher")
    haru.keyboard.type("merge N with S")
    tab_to(haru, "Facts")
    haru.keyboard.press("Enter")
    tab_to(haru, "Year of the data")
    haru.keyboard.type("1998")
    press(haru, "Refuse")
    haru.wait_for_url("**said=decided")
    press(haru, "Approve")
    haru.wait_for_url(f"**/outputs/{centre.outputs(1)[2]}?said=decided")
    press(haru, "Approve")
    haru.wait_for_url("**/requests/1?said=decided")
    press(haru, "Finish phase 2")
    haru.wait_for_url("**said=approved")
    press(haru, "Release")
    haru.wait_for_url("**/release")
    press(haru, "Release approved outputs")
    haru.wait_for_url("**said=releasing")
    aki = somebody.page("aki")
    press(aki, "Users")
    aki.wait_for_url("**/users")
    tab_to(aki, "Login")
    aki.keyboard.type("nao")
    tab_to(aki, "Name")
    aki.keyboard.type("Nao Seki")
    tab_to(aki, "checker")
    aki.keyboard.press("Space")
    press(aki, "Add")
    sync_api.expect(aki.get_by_role("row", name="Nao Seki")).to_contain_text("checker")
    assert somebody.quiet() == []


def test_lost_connection_reports_nothing_saved(centre, somebody):
    number = centre.submit()
    page = somebody.page("yui")
    page.goto(f"{somebody.site}/requests/{number}")
    page.context.set_offline(True)
    page.get_by_role("button", name="Approve").first.click()
    sync_api.expect(page.locator("#notice")).to_contain_text("nothing was saved")
    page.context.set_offline(False)
    page.get_by_role("button", name="Approve").first.click()
    sync_api.expect(page.locator("#ballot")).to_contain_text("1 of 3 voted")


def test_expired_session_returns_after_sign_in(centre, somebody):
    number = centre.submit()
    page = somebody.page("yui")
    page.goto(f"{somebody.site}/requests/{number}")
    with centre.context.engine.begin() as connection:
        connection.execute(sa.text("UPDATE session SET ended = seen"))
    page.get_by_role("button", name="Approve").first.click()
    page.wait_for_url("**/login?next=*")
    page.get_by_label("Login").fill("yui")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/requests/{number}")
    sync_api.expect(page.locator("#ballot")).to_contain_text("0 of 3 voted")
    # After signing out, the back button shows no confidential page.
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/login")
    page.go_back()
    page.wait_for_url("**/login?next=*")


AXE = resources.files("axe_playwright_python").joinpath("axe.min.js")
PAGES = {
    "ren": ["/mine", "/new", "/requests/1", "/outputs/1"],
    "yui": [
        "/queue",
        "/requests/1",
        "/outputs/1",
        "/outputs/1?layer=units",
        "/requests/1/pairs",
        "/requests/3/pairs",
        "/outputs/7",
        "/outputs/9",
        "/policies",
        "/nothing",
    ],
    "haru": [
        "/requests/2",
        "/outputs/4",
        "/requests/2/release",
        "/log",
        "/log/check",
        "/statistics",
        "/policies/1",
    ],
    "aki": ["/users"],
}


@pytest.mark.parametrize("width", [400, 1400])
def test_pages_are_accessible_and_fit_the_window(centre, somebody, width, after_a_release):
    centre.submit()
    second = centre.submit(title="In phase 2")
    folder, _ = after_a_release
    # With a difference from what has left, and with a chart.
    centre.submit(title="Differences", folder=folder / "second", checked=folder / "found")
    for login in ("yui", "sota"):
        centre.vote(second, login, ["approve"] * 3)
    centre.browser("yui").post(f"/requests/{second}/settle")
    wrong = []
    for login, paths in {None: ["/login"], **PAGES}.items():
        page = somebody.page(login, width)
        for path in paths:
            page.goto(somebody.site + path)
            page.evaluate(AXE.read_text("utf-8"))
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            wrong += [
                f"{path} at {width}: {each['id']}: {each['nodes'][0]['html'][:160]}"
                for each in found["violations"]
            ]
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                wrong.append(f"{path} is {wide} wide at {width}")
    assert wrong == []
    assert somebody.quiet() == []


def test_injected_script_does_not_run(centre, somebody):
    number = centre.submit(
        title='<img src=x onerror="document.title=7*191"><script>document.title=7*191</script>'
    )
    page = somebody.page("yui")
    page.goto(f"{somebody.site}/requests/{number}")
    # Even one that gets into the page is stopped by its policy.
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title=1\">')")
    page.wait_for_timeout(200)
    assert "1337" not in page.title()
    assert page.title() != "1"
