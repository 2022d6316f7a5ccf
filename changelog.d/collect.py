"""Put the fragments of the changelog together; with a version, move them into CHANGELOG.md."""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = ("added", "changed", "fixed", "removed", "security")
NAME = re.compile(rf"(\d+)(?:-[a-z-]+)?\.({'|'.join(KINDS)})(?:\.\d+)?\.md")


def section(folder: Path, version: str) -> str:
    """Return the fragments as one section, by kind, then by issue."""
    found: dict[str, list[tuple[int, str, str]]] = {kind: [] for kind in KINDS}
    for path in sorted(folder.glob("*.md")):
        match = NAME.fullmatch(path.name)
        if match:
            text = " ".join(path.read_text("utf-8").split())
            found[match[2]].append((int(match[1]), path.name, text))
        elif path.name != "README.md":
            sys.exit(f"{path.name}: not named <issue>.<kind>.md\n  fix: one of the kinds {', '.join(KINDS)}")
    lines = [f"## {version}"]
    for kind, entries in found.items():
        if entries:
            lines += ["", f"### {kind.capitalize()}", ""]
            lines += [f"- {text} (issue {issue})" for issue, _, text in sorted(entries)]
    return "\n".join(lines) + "\n"


def release(folder: Path, changelog: Path, version: str) -> None:
    """Write the section into the changelog, before the newest version, and remove the fragments."""
    head, mark, older = changelog.read_text("utf-8").partition("\n## ")
    changelog.write_text(f"{head.rstrip()}\n\n{section(folder, version)}{mark}{older}", encoding="utf-8")
    for path in folder.glob("*.md"):
        if NAME.fullmatch(path.name):
            path.unlink()


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1]:
        release(HERE, HERE.parent / "CHANGELOG.md", sys.argv[1])
    else:
        sys.stdout.write(section(HERE, "Next version"))
