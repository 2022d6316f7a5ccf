r"""Convert LaTeX formulas, ``$x$`` or ``$$x$$``, to MathML when the site is built.

Browsers draw MathML by themselves, so nothing is fetched and no script runs.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?P<open>[\[(])(?P<latex>.*?)\\[\])]</(?P=tag)>', re.DOTALL
)


def on_page_content(html: str, **_: Any) -> str:
    """Replace every formula."""
    return FORMULA.sub(mathml, html)


def mathml(match: re.Match[str]) -> str:
    from latex2mathml.converter import convert

    latex = unescape(match["latex"]).strip()
    drawn = convert(latex, display="block" if match["open"] == "[" else "inline")
    if "<mi>&</mi>" in drawn:
        # latex2mathml prints unknown environments verbatim; it supports \\begin{split}.
        message = f"the formula has an environment that cannot be drawn: {latex}"
        raise ValueError(message)
    return drawn
