"""τ-ARGUS recodings (``.grc``): groups of codes, or truncated hierarchies.

As in τ-ARGUS, codes are compared as right-aligned text in the width of the variable. A range never includes a
missing code, and a missing code never becomes a valid one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hitoku.errors import DataError, HierarchyError, did_you_mean, some
from hitoku.io.argus.text import lines_of, read_text, words_of
from hitoku.model import Hierarchy

TREE = "<TREERECODE>"


class Range(NamedTuple):
    """Codes from ``low`` to ``high``, inclusive; None is an open end, equal ends are one code."""

    low: str | None
    high: str | None


@dataclass(frozen=True, slots=True)
class GroupRecode:
    """New codes for groups of old ones; codes without a rule are unchanged.

    Examples
    --------
    >>> recode = GroupRecode((("1", (Range("1", "5"),)),))
    >>> recode.recoded([" 2", " 6", "10"])
    {' 2': ' 1', ' 6': ' 6', '10': '10'}
    """

    rules: tuple[tuple[str, tuple[Range, ...]], ...]  # Each new code with the codes and ranges it replaces.
    missing: tuple[str, ...] = ()  # Missing codes of the new variable. Default: those of the old one.
    code_list: str | None = None  # File of labels of the new codes.

    def recoded(
        self, codes: Iterable[str], *, missing: Sequence[str] = (), length: int | None = None
    ) -> dict[str, str]:
        """Return the new code of every code.

        New codes are padded like old ones. Unlike in τ-ARGUS, where the last rule wins, a code under two
        rules raises DataError.

        Parameters
        ----------
        codes
            Codes that occur.
        missing
            Missing codes.
        length
            Width of the variable in fixed columns. Default: width of its widest code.
        """
        old = list(dict.fromkeys(codes))
        width = self._width([*old, *missing], length)
        unknown = {code.strip() for code in missing}
        new = {code: self._new_code(code, width, unknown) for code in old}
        padded = any(code != code.strip() for code in old)
        widest = max(map(len, new.values()), default=0)
        return {code: target.rjust(widest) for code, target in new.items()} if padded else new

    def _width(self, codes: Sequence[str], length: int | None) -> int:
        """Return the width for comparing codes; raise DataError if a rule names a wider one."""
        ends = [end for _, ranges in self.rules for r in ranges for end in r if end is not None]
        width = max(map(len, [*codes, *ends]), default=0) if length is None else length
        wide = [end for end in ends if len(end) > width]
        if wide:
            raise DataError(
                "rule_code_too_wide",
                "a rule names a code that is wider than the {width} signs of the variable",
                where="recoding, code {code!r}",
                fix="name codes as they stand in the data",
                width=width,
                code=wide[0],
            )
        return width

    def _new_code(self, code: str, width: int, unknown: set[str]) -> str:
        """Return the new code of a code, or the code itself if no rule covers it."""
        named = [target for target, ranges in self.rules if _covers(ranges, code, width, unknown)]
        if len(named) > 1:
            raise DataError(
                "code_under_several_rules",
                "code {code!r} falls under {n} rules",
                where="recoding to {named}",
                fix="let the codes and ranges of the rules not overlap",
                code=code,
                n=len(named),
                named=some(repr(name) for name in named),
            )
        still_unknown = {word.strip() for word in self.missing} or unknown
        if named and code.strip() in unknown and named[0].strip() not in still_unknown:
            raise DataError(
                "missing_code_becomes_valid",
                "the missing code {missing!r} would become the valid code {code!r}",
                where="recoding",
                fix="leave it out, or declare the new code with <MISSING>",
                missing=code,
                code=named[0],
            )
        return named[0] if named else code


@dataclass(frozen=True, slots=True)
class TreeRecode:
    """Branches of a hierarchy to be truncated: all codes below them are removed.

    Examples
    --------
    >>> tree = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1", "S2"]})
    >>> TreeRecode(("North",)).pruned(tree).leaves
    ('North', 'S1', 'S2')
    """

    closed: tuple[str, ...]

    @classmethod
    def below(cls, hierarchy: Hierarchy, level: int) -> TreeRecode:
        """Truncate a hierarchy below a level; codes directly under the total are level one."""
        if level < 1:
            raise DataError(
                "tree_level_in_recoding",
                "level {level} of a tree",
                where="recoding",
                fix="levels below the total start at one",
                level=level,
            )
        groups = {code for code, _ in hierarchy.groups()}
        depths = zip(hierarchy.codes, _depths(hierarchy), strict=True)
        return cls(tuple(code for code, depth in depths if depth == level and code in groups))

    def pruned(self, hierarchy: Hierarchy) -> Hierarchy:
        """Return the hierarchy without the codes below truncated branches."""
        target = self.recoded(hierarchy)
        kept = [place for place, code in enumerate(hierarchy.codes) if target[code] == code]
        pairs = [(hierarchy.codes[place], hierarchy.codes[hierarchy.parents[place]]) for place in kept[1:]]
        return Hierarchy.from_pairs(pairs, total=hierarchy.total)

    def recoded(self, hierarchy: Hierarchy) -> dict[str, str]:
        """Return for every code itself, or the truncated branch that contains it."""
        by_word = {code.strip(): code for code in hierarchy.codes[1:]}
        by_word |= {code: code for code in hierarchy.codes[1:]}
        for code in self.closed:
            if code not in by_word and code.strip() not in by_word:
                raise HierarchyError(
                    "unknown_branch",
                    "a branch {code!r} is to be closed that the tree lacks",
                    where="recoding",
                    fix=did_you_mean(code, hierarchy.codes[1:]),
                    code=code,
                )
        closed = {by_word.get(code, by_word.get(code.strip(), "")) for code in self.closed}
        target: list[str] = []
        for place, code in enumerate(hierarchy.codes):
            parent = int(hierarchy.parents[place])
            above = target[parent] if parent >= 0 else code
            inside = parent >= 0 and (above != hierarchy.codes[parent] or above in closed)
            target.append(above if inside else code)
        return dict(zip(hierarchy.codes, target, strict=True))


Recode = GroupRecode | TreeRecode


def read_recode(path: str | Path) -> Recode:
    """Read a ``.grc`` file: rules, or truncated branches if its first line is ``<TREERECODE>``."""
    path = Path(path)
    return parse_recode(read_text(path, "recoding"), name=path.name)


def parse_recode(text: str, *, name: str = "recoding") -> Recode:
    r"""Read the text of a ``.grc`` file; see :func:`read_recode`.

    Examples
    --------
    >>> parse_recode("S: 1-3\nL: 4, 6-").rules[1]
    ('L', (Range(low='4', high='4'), Range(low='6', high=None)))
    """
    lines = list(lines_of(text))
    if lines and lines[0].text.upper() == TREE:
        raw = text.splitlines()
        return TreeRecode(tuple(raw[line.number - 1].replace("\t", " ").rstrip() for line in lines[1:]))
    rules: list[tuple[str, tuple[Range, ...]]] = []
    missing: tuple[str, ...] = ()
    code_list = None
    for number, line in lines:
        where = f"{name}, line {number}"
        words = words_of(line)
        if words and words[0].is_keyword:
            values = [word.text for word in words[1:] if word.text != ","]
            keyword = words[0].text.upper()
            if keyword == "<MISSING>" and 0 < len(values) <= 2:
                missing = tuple(values)
            elif keyword == "<CODELIST>" and len(values) == 1:
                code_list = values[0]
            else:
                raise DataError(
                    "recoding_word_unknown",
                    "{word} is unknown in a recoding, or lacks its values",
                    where=where,
                    fix=did_you_mean(keyword, ["<MISSING>", "<CODELIST>", TREE]),
                    word=keyword,
                )
            continue
        new, colon, parts = line.partition(":")
        if not colon or not new.strip():
            raise DataError(
                "rule_without_new_code",
                "a rule of the recoding has no new code",
                where=where,
                fix="write the new code, a colon, and the old codes, such as S: 1-3, 5",
            )
        rules.append((_bare(new), tuple(_range(part, where) for part in parts.split(","))))
    if not rules:
        raise DataError(
            "recoding_empty",
            "the recoding has no rule",
            where=name,
            fix="write at least one, such as S: 1-3, 5",
        )
    return GroupRecode(tuple(rules), missing, code_list)


def _covers(ranges: Sequence[Range], code: str, width: int, missing: set[str]) -> bool:
    own = code.rjust(width)
    for low, high in ranges:
        if low is not None and low == high:
            if own == low.rjust(width):
                return True
        elif code.strip() not in missing:
            after = low is None or own >= low.rjust(width)
            if after and (high is None or own <= high.rjust(width)):
                return True
    return False


def _range(text: str, where: str) -> Range:
    """Parse ``3``, ``1-5``, ``6-`` or ``-4``; quotes protect a hyphen in a code."""
    part = text.strip()
    if len(part) > 2 and part[0] == part[-1] == '"' and '"' not in part[1:-1]:
        return Range(part[1:-1], part[1:-1])
    ends = [_bare(end) or None for end in part.split("-")]
    if any(end is not None and " " in end for end in ends):
        raise DataError(
            "rule_codes_not_separated",
            "a rule of the recoding has two codes without a comma or hyphen between them",
            where=where,
            fix="put commas between codes; a comment needs a line of its own",
        )
    if len(ends) == 1 and ends[0] is not None:
        return Range(ends[0], ends[0])
    if len(ends) != 2 or ends == [None, None]:
        raise DataError(
            "rule_without_code",
            "a rule of the recoding names no code, or a range with more than two ends",
            where=where,
            fix="write codes and ranges with commas between them: 1-3, 5, 7-",
        )
    low, high = ends
    if low is not None and high is not None:
        width = max(len(low), len(high))
        if low.rjust(width) > high.rjust(width):
            raise DataError(
                "range_backwards",
                "the range from {low!r} to {high!r} runs backwards",
                where=where,
                fix="codes are compared as text, flush right; put the smaller one first",
                low=low,
                high=high,
            )
    return Range(low, high)


def _bare(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _depths(hierarchy: Hierarchy) -> list[int]:
    depths = [0]
    for parent in hierarchy.parents[1:]:
        depths.append(depths[parent] + 1)
    return depths
