"""Pages and errors in the reader's language: gettext catalogues, English where they have no translation.

A message is looked up by its English template; its fields are filled in afterwards. Catalogues have one entry
per template, with the same fields in any order, and are read as translators write them: compiled catalogues,
which the standard library reads, would have to be built again for every change of a text.
``python -m tools.messages`` lists missing translations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hitoku.errors import HitokuError, ParameterError, did_you_mean
from hitoku.messages import Text, translate

FOLDER = Path(__file__).with_name("languages")
ENGLISH = "en"
# Weight of a language in an Accept-Language header.
QUALITY = re.compile(r"[01](\.[0-9]{0,3})?")
LINE = re.compile(r'^(msgid|msgstr)?\s*"(.*)"$')
ESCAPES = {r"\n": "\n", r"\"": '"', r"\\": "\\"}


def languages() -> tuple[str, ...]:
    """Name the languages that pages and errors can be in."""
    return (ENGLISH, *sorted(path.stem for path in FOLDER.glob("*.po")))


def speaker(lang: str) -> Callable[..., str]:
    """Return the function that translates templates and texts; an unknown language is rejected.

    Examples
    --------
    >>> say = speaker("ja")
    >>> say("withheld"), say("{n} withheld", n=3), say("Gullhaven"), speaker("en")("{n} withheld", n=3)
    ('秘匿', '秘匿 3', 'Gullhaven', '3 withheld')
    """
    if lang not in languages():
        raise ParameterError(
            "unknown_language",
            "no language {language!r}",
            where="--lang",
            fix=did_you_mean(lang, languages()),
            language=lang,
        )
    return speak(catalogue(lang) if lang != ENGLISH else {})


def preferred_language(header: str) -> str:
    """Return the language of an Accept-Language header that is available, English by default.

    Examples
    --------
    >>> [preferred_language(header) for header in ("ja,en;q=0.8", "fr, ja-JP;q=0.5", "en, ja;q=0.9", "fr")]
    ['ja', 'ja', 'en', 'en']
    """
    found: list[tuple[float, str]] = []
    for part in header.split(","):
        name, _, quality = part.strip().partition(";q=")
        lang = name.split("-")[0].lower()
        weight = float(quality) if QUALITY.fullmatch(quality) else 1.0
        if lang in languages() and weight > 0:
            found.append((weight, lang))
    return max(found, key=lambda each: each[0], default=(1.0, ENGLISH))[1]


def speak(words: Mapping[str, str]) -> Callable[..., str]:
    """Return the function that translates by a catalogue.

    Examples
    --------
    >>> speak({"no file {name}": "{name} fehlt"})("no file {name}", name="a.csv")
    'a.csv fehlt'
    """

    def say(text: str, /, **fields: Any) -> str:
        return translate(Text(text, **fields) if fields else text, look_up)

    def look_up(template: str) -> str:
        return words.get(template, template)

    return say


def error_lines(error: HitokuError, lang: str = ENGLISH) -> list[str]:
    """Return the lines of an error: what is wrong, where, how to fix it.

    Examples
    --------
    >>> fix = did_you_mean("turnver", ["turnover"])
    >>> error = ParameterError("unknown_column", "no column {column!r}", fix=fix, column="turnver")
    >>> error_lines(error, "ja")
    ["列 'turnver' はありません", "対処: 'turnover' ではありませんか"]
    """
    say = speaker(lang)
    named = [(say("where"), error.where), (say("fix"), error.fix)]
    return [say(error.what), *(f"{name}: {say(text)}" for name, text in named if text)]


@cache
def catalogue(lang: str) -> Mapping[str, str]:
    """Return the translations of a language by English template."""
    return read_po((FOLDER / f"{lang}.po").read_text("utf-8"))


def read_po(text: str) -> dict[str, str]:
    r"""Read a gettext catalogue; the header and what is not translated are left out.

    Examples
    --------
    >>> read_po('msgid "{n} of"\n" {m}"\nmsgstr "{m}"\n"個中{n}個"')
    {'{n} of {m}': '{m}個中{n}個'}
    """
    found: dict[str, str] = {}
    parts = {"msgid": "", "msgstr": ""}
    at = "msgstr"
    for line in [*text.splitlines(), 'msgid ""']:
        read = LINE.match(line.strip())
        if read is None:
            continue
        word, part = read[1] or at, read[2]
        if word == "msgid" and at == "msgstr":
            if parts["msgid"] and parts["msgstr"]:
                found[parts["msgid"]] = parts["msgstr"]
            parts = {"msgid": "", "msgstr": ""}
        at = word
        parts[at] += re.sub(r"\\.", lambda escape: ESCAPES.get(escape[0], escape[0]), part)
    return found
