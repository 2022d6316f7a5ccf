"""Pages and errors in the reader's language: gettext catalogues, English where they have no word.

Sentences are written in English where they are needed, and looked up here when they are shown; a test reads
them out of the source and asks for a translation of each. Those with numbers and codes in them stand in the
catalogue with names in braces: ``{n}`` and ``{m}`` for numbers, ``{text}`` for something that is itself
translated, every other name for codes, which are kept; ``{columns}`` ends before a semicolon.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hitoku.errors import HitokuError, ParameterError, did_you_mean
from hitoku.io.advice import spoken

FOLDER = Path(__file__).with_name("languages")
ENGLISH = "en"
PAGES, ERRORS = "pages", "errors"
# A text within a text within a text; nothing of ours is deeper.
DEEPEST = 8
PLACE = re.compile(r"\{(\w+)\}")
LINE = re.compile(r'^(msgid|msgstr)?\s*"(.*)"$')
ESCAPES = {r"\n": "\n", r"\"": '"', r"\\": "\\"}


class _Pattern(NamedTuple):
    """A sentence with places for numbers, codes and texts."""

    shape: re.Pattern[str]
    translated: str


class Catalogue(NamedTuple):
    """What a language says: whole texts, and sentences with places, those with most letters first."""

    texts: dict[str, str]
    patterns: tuple[_Pattern, ...]

    def say(self, text: str, depth: int = 0) -> str:
        """Translate a text; one that is not in the catalogue stays as it is.

        Examples
        --------
        >>> catalogue("ja").say("at least 10 units: 3 of 9 withheld")
        '10客体以上:9個中3個を秘匿'
        """
        if text in self.texts:
            return self.texts[text]
        if depth >= DEEPEST:
            return text
        for pattern in self.patterns:
            found = pattern.shape.fullmatch(text)
            if found is not None:
                places = found.groupdict()
                filled = {
                    name: self.say(part, depth + 1) if name.startswith("text") else part
                    for name, part in places.items()
                }
                return PLACE.sub(lambda place, filled=filled: filled[place[1]], pattern.translated)  # type: ignore[misc]
        return text


def languages() -> tuple[str, ...]:
    """Name the languages that pages and errors can be in."""
    return (ENGLISH, *sorted(path.name for path in FOLDER.iterdir() if path.is_dir()))


def speaker(lang: str, kind: str = PAGES) -> Callable[[str], str]:
    """Return what translates texts; anything but a language of ours is refused.

    Examples
    --------
    >>> speaker("ja")("withheld"), speaker("en")("withheld"), speaker("ja")("Gullhaven")
    ('秘匿', 'withheld', 'Gullhaven')
    """
    if lang not in languages():
        raise ParameterError(
            "unknown_language",
            "no language {language!r}",
            where="--lang",
            fix=did_you_mean(lang, languages()),
            language=lang,
        )
    return str if lang == ENGLISH else catalogue(lang, kind).say


def told(error: HitokuError, lang: str = ENGLISH) -> list[str]:
    """Return the lines of an error: what is wrong, where, how to fix it.

    Examples
    --------
    >>> fix = "did you mean 'turnover'?"
    >>> told(ParameterError("unknown_column", "no column 'turnver'", where="--value", fix=fix), "ja")
    ["列 'turnver' はありません", '場所: --value', "対処: 'turnover' ではありませんか"]
    """
    say = speaker(lang, ERRORS)
    named = [(say("where"), error.where), (say("fix"), error.fix)]
    return [say(error.what), *(f"{name}: {say(text)}" for name, text in named if text)]


@cache
def catalogue(lang: str, kind: str = PAGES) -> Catalogue:
    """Read a catalogue."""
    entries = read_po((FOLDER / lang / f"{kind}.po").read_text("utf-8"))
    if kind == ERRORS:
        # Advice that names arguments of Python is told to users of recipes and commands in their words.
        for recipe in (True, False):
            others = {
                spoken(text, recipe=recipe): spoken(said, recipe=recipe) for text, said in entries.items()
            }
            entries = others | entries
    texts = {text: said for text, said in entries.items() if not PLACE.search(text)}
    patterns = [_Pattern(_shape(text), said) for text, said in entries.items() if PLACE.search(text)]
    # The more a sentence says itself, the less it can be mistaken for another.
    patterns.sort(key=lambda each: -len(re.sub(r"\(\?P<\w+>.*?\)", "", each.shape.pattern)))
    return Catalogue(texts, tuple(patterns))


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


def _shape(text: str) -> re.Pattern[str]:
    made, last = "", 0
    for place in PLACE.finditer(text):
        made += re.escape(text[last : place.start()])
        number, listed = re.fullmatch(r"[nm]\d?", place[1]), place[1].startswith("column")
        kind = r"[-\d,.%e+]+" if number else "[^;]+?" if listed else ".+?"
        made += f"(?P<{place[1]}>{kind})"
        last = place.end()
    return re.compile(made + re.escape(text[last:]), re.DOTALL)
