"""A headless Chromium on a leash: started for one test, told what to do through a pipe, ended by its id.

The pipe speaks the DevTools protocol, one JSON message after another with a zero byte between. Keys are
pressed as a keyboard would press them; every request and every message of the console is kept.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Seconds to wait for one answer: a machine may be busy.
PATIENCE = 60
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)
# The protocol asks for the descriptors 3 and 4, which may be taken here.
LAUNCH = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)
KEYS = {"ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "Tab": 9}
CONTROL = 2


class NoAnswerError(Exception):
    """The browser did not do what it was told."""


def installed() -> str | None:
    """Path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def _pipe() -> tuple[int, int]:
    """Open a pipe whose ends are out of the way of the small numbers."""
    low = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low)
    for end in low:
        os.close(end)
    return high[0], high[1]


class Chromium:
    """One browser with one page."""

    def __init__(self, program: str, home: Path) -> None:
        to_browser, self._out = _pipe()
        self._in, from_browser = _pipe()
        self._log = home / "stderr.txt"
        ends = (str(to_browser), str(from_browser))
        command = [program, *FLAGS, f"--user-data-dir={home / 'profile'}", "about:blank"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", LAUNCH, *ends, *command],
                pass_fds=(to_browser, from_browser),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._number, self._session = b"", 0, ""
        self.requests: list[str] = []
        self.complaints: list[str] = []
        try:
            target = self._ask("Target.createTarget", url="about:blank")["targetId"]
            self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Network", "Log"):
                self._ask(f"{domain}.enable")
        except (OSError, NoAnswerError) as error:
            self.close()
            said = self._log.read_text("utf-8", "replace")[-2000:]
            raise NoAnswerError(f"{program} does not start: {error}\n{said}") from error

    def close(self) -> None:
        """End the browser and everything it started, nothing else."""
        for descriptor in (self._out, self._in):
            os.close(descriptor)
        try:
            # A browser whose pipe is closed ends by itself.
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(timeout=PATIENCE)

    def open(self, page: Path) -> None:
        """Open a file and wait until it is loaded."""
        self.requests.clear()
        self.complaints.clear()
        self._ask("Page.navigate", url=page.as_uri())
        end = time.monotonic() + PATIENCE
        while self.value("document.readyState + location.protocol") != "completefile:":
            if time.monotonic() > end:
                raise NoAnswerError(f"{page.name} was not loaded")
            time.sleep(0.05)

    def value(self, expression: str) -> Any:
        """Work out an expression in the page."""
        answer = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise NoAnswerError(answer["exceptionDetails"]["exception"].get("description", expression))
        return answer["result"].get("value")

    def press(self, key: str, *, control: bool = False) -> None:
        """Press and release a key."""
        code = KEYS.get(key, ord(key.upper()) if len(key) == 1 else 0)
        what = {"key": key, "windowsVirtualKeyCode": code, "modifiers": CONTROL if control else 0}
        text = {"text": key} if len(key) == 1 and not control else {}
        self._ask("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **what, **text)
        self._ask("Input.dispatchKeyEvent", type="keyUp", **what)

    def click(self, selector: str) -> None:
        """Press the mouse in the middle of an element."""
        self.value(
            f"document.querySelector({selector!r}).scrollIntoView({{block: 'center', inline: 'center'}})"
        )
        box = self.value(
            f"(() => {{ const b = document.querySelector({selector!r}).getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        where = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
        self._ask("Input.dispatchMouseEvent", type="mousePressed", **where)
        self._ask("Input.dispatchMouseEvent", type="mouseReleased", **where)

    def look(self, *, width: int = 1280, height: int = 900, scheme: str = "light", media: str = "") -> None:
        """Set the size of the window, light or dark, screen or print."""
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._ask("Emulation.setEmulatedMedia", media=media, features=features)

    def picture(self, *, whole: bool = False) -> bytes:
        """Take a PNG of the window, or of the whole page."""
        answer = self._ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(answer["data"])

    def pdf(self) -> bytes:
        """Print the page."""
        answer = self._ask("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        return base64.b64decode(answer["data"])

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while True:
            answer = self._next(end, method)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise NoAnswerError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            self._note(answer.get("method", ""), answer.get("params", {}))

    def _next(self, end: float, method: str) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(end - time.monotonic(), 0))
            piece = os.read(self._in, 1 << 20) if ready else b""
            if not piece:
                raise NoAnswerError(f"no answer to {method}: the browser ended or takes too long")
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(line))

    def _note(self, event: str, what: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif event == "Runtime.consoleAPICalled" and what["type"] in {"error", "warning", "assert"}:
            self.complaints.append(json.dumps(what["args"]))
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(what["exceptionDetails"]))
        elif event == "Log.entryAdded":
            self.complaints.append(what["entry"]["text"])
