"""Take screenshots of the review application: python docs/screenshots.py [FOLDER].

The script simulates a day at a synthetic centre; pages shown in the tours are written to docs/images/review. With a
folder, every page of every role is also written there, wide and narrow, for inspection.
"""

import io
import secrets
import shutil
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

import pandas as pd
import uvicorn
from PIL import Image
from playwright.sync_api import sync_playwright
from starlette.testclient import TestClient

from hitoku.checks.session import Session
from hitoku.review import checking, users
from hitoku.review import make_app
from hitoku.review import hand_in, make_demo, submit
from hitoku.review import copy_folder
from hitoku.review import user_by_login
from hitoku.review import versions
from hitoku.review import outputs_of
from hitoku.review import reading, writing
from hitoku.review import new_turn
from hitoku.review import COOKIE
from hitoku.review import Worker

IMAGES = Path(__file__).parent / "images" / "review"
WIDE, NARROW = 1400, 400
# Width of the pictures in the tours.
SHOWN = 1000


class Here(Worker):
    """A worker in this process: a separate one would load all modules again for each check."""

    def _done(self, _taken, task):
        return {"result": checking.TASKS[task["kind"]](task, lambda *_: None)}, ""


class Day:
    """Simulated day at the centre: actions of its users, and screenshots."""

    def __init__(self, context, browser, every):
        self.context, self.browser, self.every = context, browser, every
        self.app, self.contexts, self.number = make_app(context, work=False), {}, 0
        self.worker = Here(context)

    def token(self, login):
        with writing(self.context.engine) as connection:
            return users.begin_session(connection, user_by_login(connection, login).id)

    def does(self, login, path, **form):
        """Submit a form as a user."""
        client = TestClient(self.app, base_url="http://127.0.0.1", follow_redirects=False)
        token = self.token(login)
        client.cookies.set(COOKIE, token)
        answer = client.post(path, data=form, headers={"x-form-token": users.form_token(token)})
        if answer.status_code >= 400:
            raise SystemExit(f"{login} {path}: {answer.status_code} {answer.text[-1500:]}")

    def works(self):
        while self.worker.work():
            pass

    def page(self, login, width):
        if (login, width) not in self.contexts:
            context = self.browser.new_context(
                viewport={"width": width, "height": 900 if width > 500 else 800}
            )
            if login:
                context.add_cookies([{"name": COOKIE, "value": self.token(login), "url": self.site}])
            self.contexts[login, width] = context.new_page()
        return self.contexts[login, width]

    def shoot(self, name, login, path, *, before=None, height=None, tour=True):
        """Take a screenshot of a page, for the tour and, if a folder was given, wide and narrow."""
        for width in (WIDE, NARROW) if self.every else (WIDE,):
            page = self.page(login, width)
            page.goto(self.site + path)
            if before:
                before(page)
                page.wait_for_timeout(300)
            if self.every:
                self.number += 1
                place = self.every / f"{width}-{self.number:03}-{login or 'nobody'}-{name}.png"
                page.screenshot(path=place, full_page=True)
            if width == WIDE and tour:
                picture = Image.open(io.BytesIO(page.screenshot()))
                if height:
                    picture = picture.crop((0, 0, WIDE, height))
                picture = picture.resize((SHOWN, round(picture.height * SHOWN / WIDE)), Image.LANCZOS)
                picture.save(IMAGES / f"{name}.webp", quality=72, method=6)

    def outputs(self, request):
        with reading(self.context.engine) as connection:
            return [each.id for each in outputs_of(connection, request)]

    def votes(self, login, request, *choices):
        for place, choice in zip(self.outputs(request), choices, strict=True):
            said = (
                {"text": "Together with the first table this singles a few enterprises out.", "public": "yes"}
                if choice == "change"
                else {}
            )
            self.does(login, f"/outputs/{place}/vote", choice=choice, **said)
        self.does(login, f"/requests/{request}/review")

    def resubmits(self, login, request, work, folder):
        work.submit(folder)
        nonce = secrets.token_hex(8)
        place, digest = copy_folder(folder, self.context.quarantine, nonce, self.context.settings)
        with writing(self.context.engine) as connection:
            who = user_by_login(connection, login)
            new_turn(connection, self.context, who, request, folder=place, digest=digest, nonce=nonce)


def first_withheld(page):
    page.locator("[data-grid] td.prim").first.click()
    page.wait_for_selector("#drawer h2")


def the_day(day, folder):
    trap, turnover, towns = 1, 2, 3
    day.shoot("sign-in", None, "/login", height=520)
    day.works()
    # Phase 1: two checkers.
    day.shoot("queue", "yui", "/queue", height=520)
    day.shoot("request", "yui", f"/requests/{towns}", before=lambda page: page.keyboard.press("j"))
    table, histogram, median, model = day.outputs(towns)
    day.shoot("table", "yui", f"/outputs/{table}", before=first_withheld)
    day.shoot("interval", "yui", f"/outputs/{table}?layer=interval", tour=False)
    day.shoot("chart", "yui", f"/outputs/{histogram}")
    day.shoot("percentile", "yui", f"/outputs/{median}", tour=False)
    day.shoot("regression", "yui", f"/outputs/{model}")
    day.shoot("differences-within", "yui", f"/requests/{trap}/pairs", tour=False)
    day.shoot("keys", "yui", "/queue", before=lambda page: page.keyboard.press("?"), tour=False)
    n = len(day.outputs(turnover))
    for login in ("yui", "sota"):
        day.votes(login, turnover, *["approve"] * n)
    day.votes("yui", towns, "change", "approve", "approve", "approve")
    day.shoot("waiting", "yui", f"/requests/{towns}", tour=False)
    day.votes("sota", towns, "approve", "approve", "approve", "approve")
    day.shoot("consolidation", "yui", f"/requests/{towns}")
    day.does("yui", f"/requests/{turnover}/settle")
    # Phase 2.
    day.shoot("phase-2-queue", "haru", "/queue", tour=False)
    first = day.outputs(turnover)[0]
    day.shoot("phase-2", "haru", f"/requests/{turnover}", tour=False)
    day.does("haru", f"/requests/{turnover}/approve-passing")
    day.shoot("decided", "haru", f"/outputs/{first}", tour=False)
    day.does("haru", f"/requests/{turnover}/finish")
    day.shoot("before-release", "haru", f"/requests/{turnover}/release", tour=False)
    day.does("haru", f"/requests/{turnover}/release")
    day.works()
    day.shoot("release", "haru", f"/requests/{turnover}/release")
    day.shoot("what-left", "ren", f"/requests/{turnover}/release")
    # The request with the small difference is returned, and resubmitted with another second table.
    for login in ("yui", "sota"):
        day.votes(login, trap, "approve", "change")
    day.does("yui", f"/requests/{trap}/return")
    day.shoot("returned", "ren", f"/requests/{trap}")
    again = Session("large and small", str(day.data), unit="enterprise", unit_word="enterprise")
    again.frequency_table(by=["region"], name="all enterprises by town")
    again.frequency_table(by=["region"], where={"region": day.regions[:8]}, name="without the large ones")
    day.resubmits("ren", trap, again, folder / "again")
    # A difference with a released output.
    second = Session("sizes again", str(day.data), unit="enterprise", unit_word="enterprise")
    second.frequency_table(
        by=["size"], where={"region": day.regions[1:]}, name="enterprises by size, no capital"
    )
    submit(day.context, "Sizes outside the capital", "mio", second)
    day.shoot("progress", "ren", f"/requests/{trap}", tour=False)
    day.works()
    day.shoot("second-turn", "yui", f"/outputs/{day.outputs(trap)[1]}", tour=False)
    day.shoot("differences", "yui", "/requests/4/pairs")
    for login in ("yui", "sota"):
        day.votes(login, 4, "approve")
    day.does("sota", "/requests/4/settle")
    facts = lambda page: page.get_by_text("Facts on which the decision is based").click()
    day.shoot("decision", "haru", f"/outputs/{day.outputs(4)[0]}", before=facts)
    # Other pages.
    day.shoot("mine", "ren", "/mine", height=420)
    day.shoot("new", "ren", "/new", height=760)
    day.shoot("own-output", "ren", f"/outputs/{first}", tour=False)
    day.shoot("not-found", "ren", "/requests/3", tour=False)
    with reading(day.context.engine) as connection:
        policy = next(each for each in versions(connection) if each.name == "japan-2017")
    changed = policy.text.replace("minimum = 10", "minimum = 30", 1).replace(
        policy.version, f"{policy.version}-draft", 1
    )
    day.does("haru", "/policies", text=changed)
    with reading(day.context.engine) as connection:
        number = max(each.id for each in versions(connection))
    day.does("haru", f"/policies/{number}/dry-run")
    day.works()
    day.shoot("policy", "haru", f"/policies/{number}")
    day.shoot("policies", "haru", "/policies", tour=False)
    day.shoot("statistics", "haru", "/statistics")
    day.shoot("log", "haru", "/log", tour=False)
    day.shoot("log-check", "aki", "/log/check", tour=False)
    day.shoot("people", "aki", "/users", tour=False)
    day.shoot("closed", "aki", "/queue?tab=closed", tour=False)
    day.shoot("admin-request", "aki", "/requests/3", tour=False)
    day.shoot("admin-output", "aki", f"/outputs/{first}", tour=False)


def main(every=None):
    """Run the simulation and take the screenshots."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    if every:
        every.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = Path(place)
        context = make_demo(folder / "centre")
        hand_in(context)
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        day = Day(context, browser, every)
        day.data = context.folder / "data" / "enterprises.parquet"
        day.regions = sorted(pd.read_parquet(day.data, columns=["region"])["region"].unique())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(day.app, host="127.0.0.1", port=port, log_level="error"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.02)
        day.site = f"http://127.0.0.1:{port}"
        try:
            the_day(day, folder)
        finally:
            server.should_exit = True
            thread.join(timeout=20)
            browser.close()
    total = sum(path.stat().st_size for path in IMAGES.iterdir())
    print(f"{len(list(IMAGES.iterdir()))} pictures, {total / 1e6:.2f} MB in {IMAGES}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
