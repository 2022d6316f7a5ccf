"""Pages of a web application: templates, and static files with the hash of their content in the address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from hitoku.files import sha256

HERE = Path(__file__).parent
STATIC = "/static"


@dataclass(frozen=True, eq=False)
class Site:
    """Templates and static files of an application, searched before those of this package.

    Templates escape every value and refuse names that were not given.
    """

    folder: Path
    """Folder of the application, with ``templates`` and ``static``."""
    names: Mapping[str, Any] = field(default_factory=dict)
    """Functions and values for all templates, in addition to ``asset``."""

    @cached_property
    def environment(self) -> Environment:
        """Environment of all templates."""
        made = Environment(
            loader=FileSystemLoader([self.folder / "templates", HERE / "templates"]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            # Templates do not change while the program runs.
            auto_reload=False,
        )
        made.globals.update(self.names, asset=self.asset)
        made.filters["moment"] = lambda text: text.replace("T", " ").removesuffix("Z")[:16] if text else ""
        made.filters["words"] = lambda text: str(text).replace("_", " ")
        return made

    @cached_property
    def _assets(self) -> dict[str, str]:
        files = [
            path for folder in (HERE, self.folder) for path in (folder / "static").iterdir() if path.is_file()
        ]
        return {path.name: f"{STATIC}/{path.name}?{sha256(path)[:12]}" for path in files}

    def asset(self, name: str) -> str:
        """Return the address of a static file; it contains a hash of the content."""
        return self._assets[name]

    def fill(self, template: str, **values: Any) -> str:
        """Render a template."""
        return self.environment.get_template(template).render(**values)

    def static_files(self) -> Mount:
        """Return the route of styles and scripts."""
        return Mount(
            STATIC, StaticFiles(directory=self.folder / "static", packages=[("hitoku.web", "static")])
        )
