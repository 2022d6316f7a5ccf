"""Pages of a web application: templates, and static files with the hash of their content in the address."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, wraps
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_environment
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from hitoku.files import sha256
from hitoku.io import ENGLISH, speaker

HERE = Path(__file__).parent
STATIC = "/static"
JINJA = re.compile(r"(\{[{%#].*?[}%#]\})", re.DOTALL)


class TranslatedLoader(FileSystemLoader):
    """Templates whose texts between tags are translated. Texts without a translation stay English."""

    def __init__(self, folders: list[Path], say: Callable[..., str]) -> None:
        super().__init__(folders)
        self.say = say

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """Return the translated source of a template."""
        source, path, is_current = super().get_source(environment, template)
        parts = (self.say(text) if is_text else text for text, is_text in split_texts(source))
        return "".join(parts), path, is_current


def split_texts(source: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a template, with whether each is a text between tags.

    Examples
    --------
    >>> [text for text, is_text in split_texts("<p title='no'>Yes{{ 3 }} turns </p>") if is_text]
    ['Yes', 'turns']
    """
    in_tag = False
    for number, piece in enumerate(JINJA.split(source)):
        for part in [piece] if number % 2 else re.split(r"([<>]|(?<![^<>])\s+|\s+(?![^<>]))", piece):
            in_tag = part == "<" or (in_tag and part != ">")
            yield part, not in_tag and number % 2 == 0 and any(map(str.isalpha, part))


def in_language(function: Callable[..., Any]) -> Callable[..., Any]:
    """Call a function of templates with the translating function of the page as its first argument."""

    @wraps(function)
    def called(environment: Environment, *given: Any) -> Any:
        return function(environment.globals["_"], *given)

    return pass_environment(called)


@dataclass(frozen=True, eq=False)
class Site:
    """Templates and static files of an application, searched before those of this package.

    Templates escape every value and refuse names that were not given.
    """

    folder: Path
    """Folder of the application, with ``templates`` and ``static``."""
    names: Mapping[str, Any] = field(default_factory=dict)
    """Functions and values for all templates, in addition to ``asset``."""

    @cache  # noqa: B019 - an application has one site, for as long as it runs
    def environment(self, lang: str = ENGLISH) -> Environment:
        """Return the environment of all templates in a language, in which ``_`` translates values."""
        say = speaker(lang)
        made = Environment(
            loader=TranslatedLoader([self.folder / "templates", HERE / "templates"], say),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            # Templates do not change while the program runs.
            auto_reload=False,
        )
        made.globals.update(self.names, asset=self.asset, lang=lang, _=say)
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

    def fill(self, template: str, *, lang: str = ENGLISH, **values: Any) -> str:
        """Render a template in a language."""
        return self.environment(lang).get_template(template).render(**values)

    def static_files(self) -> Mount:
        """Return the route of styles and scripts."""
        return Mount(
            STATIC, StaticFiles(directory=self.folder / "static", packages=[("hitoku.web", "static")])
        )
