"""Differencing findings: one per set of outputs, with the worst group and a suggested fix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from hitoku.attacks.differencing import (
    Cell,
    Certificate,
    ClassifiedGroup,
    Definition,
    Disclosed,
    DisclosureBasis,
    Nested,
    SingledOut,
    classify_certificate,
)
from hitoku.checks.evidence import column_known
from hitoku.checks.ledger.settings import FEWEST
from hitoku.checks.principles import Clearance, Principle, PrincipleVerdict, SumTerm
from hitoku.errors import some
from hitoku.messages import Text, join

# Longer sums are shown as two totals and the number of cells.
MAX_TERMS = 6
# Disclosure bases, worst first.
RANK = (
    DisclosureBasis.BY_DEFINITION,
    DisclosureBasis.NOT_CLASSIFIED,
    DisclosureBasis.MISSING_VALUES,
    DisclosureBasis.IN_DATA,
)


# Suggested fix if one of the largest contributors would be revealed.
OF_LARGEST = Text("release one of them, or ratios that differ by {n} contributors or more", n=FEWEST)


class Concern(StrEnum):
    """Type of problem."""

    SMALL_GROUP = "small group"
    MAGNITUDE = "magnitude"
    RELATED = "related amounts"
    BOUND = "upper bound"
    NOT_TESTABLE = "not testable"
    LIMIT = "limit of work"


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferencingFinding:
    """Disclosure by a new output together with earlier ones."""

    concern: Concern  # Type of problem.
    # Names of the outputs involved, the new one last; or those that it cannot be tested against.
    outputs: tuple[str, ...]
    text: str  # Description for people.
    remedy: str  # Suggested fix.
    n_groups: int = 0  # Number of groups singled out.
    n_units: int = 0  # Units of the worst group.
    basis: DisclosureBasis = DisclosureBasis.NOT_CLASSIFIED  # Information that is needed to single it out.
    certificate: Mapping[Cell, int] | None = None  # Worst group as a sum of published cells.
    terms: tuple[SumTerm, ...] = ()  # The same with codes; empty if a cell has none.

    @property
    def verdict(self) -> PrincipleVerdict:
        """The finding as a verdict.

        A disclosure that needs the data, or that cannot be tested, needs review; any other fails.
        """
        review = (
            self.concern in {Concern.NOT_TESTABLE, Concern.LIMIT, Concern.RELATED, Concern.BOUND}
            or self.basis is DisclosureBasis.IN_DATA
        )
        return PrincipleVerdict(
            principle=Principle.DIFFERENCING,
            status=Clearance.REVIEW if review else Clearance.FAIL,
            reason=self.concern.replace(" ", "_"),
            text=self.text,
            numbers={"outputs": len(self.outputs), "groups": self.n_groups, "units": self.n_units},
            remedy=self.remedy,
            outputs=self.outputs,
            terms=self.terms,
        )

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"DifferencingFinding({self.concern}: {len(self.outputs)} outputs, {self.n_groups} groups)"


@dataclass(frozen=True, kw_only=True)
class Speaker:
    """Writer of findings about groups."""

    new: str  # Name of the new output.
    definitions: Mapping[str, Definition | None]  # Definitions of the outputs; None if unknown.
    nested: Sequence[Nested]  # Variables nested in others.
    size: Callable[[Cell], int]  # Returns the number of units of a published cell.
    shown: Callable[[str], str]  # Returns the displayed name of an output.
    unit: str = "unit"  # Displayed name of one unit.

    def findings(
        self, groups: Sequence[SingledOut], concern: Concern, because: str = ""
    ) -> list[DifferencingFinding]:
        """Return one finding for each set of outputs that singles out a group."""
        together: dict[tuple[str, ...], list[SingledOut]] = {}
        for group in groups:
            names = tuple(sorted(group.outputs, key=lambda name: (name == self.new, name)))
            together.setdefault(names, []).append(group)
        return [self._finding(names, own, concern, because) for names, own in together.items()]

    def bound(self, group: SingledOut, added: Disclosed, *, decided: bool) -> DifferencingFinding:
        """Return the finding for a sum that counts some units of a group several times, or in part.

        It is an upper bound on the size of the group, below the threshold. Where it is not decided whether
        amounts of different variables can be added, it needs review.
        """
        names = tuple(sorted(group.outputs, key=lambda name: (name == self.new, name)))
        classified = classify_certificate(group.certificate, self._definitions(group), self.nested)
        # A name is written once, although an output may have several partitions.
        terms = tuple(
            replace(term, release=names.index(name))
            for term, (name, _, _) in zip(added.terms, group.certificate, strict=True)
        )
        said = replace(added, group=classified.group or Text("a group"), terms=terms)
        text = said.describe(dict(enumerate(map(self.shown, names))), units=True)
        whole = added.exact or all(term.times.denominator == 1 for term in added.terms)
        return DifferencingFinding(
            concern=Concern.SMALL_GROUP if whole and decided else Concern.BOUND,
            outputs=tuple(map(self.shown, names)),
            n_groups=1,
            n_units=int(added.most),
            basis=classified.basis,
            text=Text("{text} ({basis})", text=text, basis=Text(classified.basis)),
            remedy=self._remedy(names),
        )

    def _definitions(self, group: SingledOut) -> dict[str, Definition | None]:
        """Return the definitions that cover the cells of a group; None for the others."""
        last = {name: max(at for own, at, _ in group.certificate if own == name) for name in group.outputs}
        return {
            name: None if each is None or last.get(name, 0) >= len(each.parts) else each
            for name, each in self.definitions.items()
        }

    def _has_codes(self, group: SingledOut) -> bool:
        """Return whether every cell has codes, if its output has any."""
        known = self._definitions(group)
        return all(known[name] is not None or self.definitions[name] is None for name in group.outputs)

    def _finding(
        self, names: tuple[str, ...], groups: list[SingledOut], concern: Concern, because: str
    ) -> DifferencingFinding:
        smallest = sorted(groups, key=lambda group: (len(group), len(group.certificate), group.cells))
        # Number of groups of a set of outputs to classify; they are alike.
        looked = [
            (classify_certificate(group.certificate, self._definitions(group), self.nested), group)
            for group in smallest[:20]
        ]
        classified, worst = min(looked, key=lambda each: RANK.index(each[0].basis))
        return DifferencingFinding(
            concern=concern,
            outputs=tuple(map(self.shown, names)),
            n_groups=len(groups),
            n_units=len(worst),
            basis=classified.basis,
            certificate={
                (self.shown(name), part, cell): times
                for (name, part, cell), times in worst.certificate.items()
            },
            text=self._sentence(classified, worst, names, len(groups) - 1, because),
            remedy=self._remedy(names) if self._has_codes(worst) else OF_LARGEST,
            terms=self._terms(worst.certificate),
        )

    def _terms(self, certificate: Certificate) -> tuple[SumTerm, ...]:
        """Return the cells of a sum with their codes; empty if one of them has none."""
        found = []
        for cell, times in sorted(certificate.items(), key=lambda each: (each[1] < 0, each[0])):
            name, part, number = cell
            definition = self.definitions.get(name)
            if definition is None or part >= len(definition.parts):
                return ()
            groups = zip(definition.variables, definition.parts[part][number - 1], strict=True)
            found.append(
                SumTerm(
                    output=self.shown(name),
                    own=name == self.new,
                    codes={variable: group for variable, group in groups if group is not None},
                    times=str(times),
                    units=self.size(cell),
                )
            )
        return tuple(found)

    def _sentence(
        self, classified: ClassifiedGroup, group: SingledOut, names: Sequence[str], n_more: int, because: str
    ) -> str:
        who = classified.group or Text("a group")
        text = Text(
            "{group}: {sum} = {n} {units}, from {outputs} ({basis})",
            group=who,
            sum=self.added_up(group.certificate),
            n=len(group),
            units=self.unit if len(group) == 1 else f"{self.unit}s",
            outputs=join(map(self.shown, names), "{first} and {second}"),
            basis=Text(classified.basis),
        )
        more = Text("{n} more groups" if n_more > 1 else "{n} more group", n=n_more)
        return join([join([text, because], "{first}, {second}"), more if n_more else ""])

    def added_up(self, certificate: Certificate) -> str:
        """Return a sum of counts as text, positive terms first."""
        ordered = sorted(certificate.items(), key=lambda each: (each[1] < 0, each[0][0] == self.new, each[0]))
        if len(ordered) > MAX_TERMS:
            totals = [
                sum(times * self.size(cell) for cell, times in ordered if (times > 0) is positive)
                for positive in (True, False)
            ]
            return f"{totals[0]} - {-totals[1]} ({len(ordered)} cells)"
        terms = [
            f"{'-' if times < 0 else '+'} {'' if abs(times) == 1 else f'{abs(times)} x '}{self.size(cell)}"
            for cell, times in ordered
        ]
        return " ".join(terms).removeprefix("+ ")

    def _remedy(self, names: Sequence[str]) -> str:
        """Return the suggested fix for a set of outputs."""
        earlier = [self.definitions.get(name) for name in names if name != self.new]
        released = [definition for name, definition in self.definitions.items() if name != self.new]
        return suggest_remedy(self.definitions.get(self.new), earlier, released)


def suggest_remedy(
    new: Definition | None, earlier: Sequence[Definition | None], released: Sequence[Definition | None]
) -> str:
    """Return the suggested change of a new output.

    Parameters
    ----------
    new
        Definition of the new output.
    earlier
        Definitions of the outputs that single out a group together with it.
    released
        Definitions of all released outputs.
    """
    involved = [each for each in earlier if each is not None]
    advice: list[str] = []
    if new is not None and involved:
        before = [each for each in released if each is not None]
        advice += [text for name in new.variables if (text := reuse(name, new, before))]
        filtered = dict.fromkeys(
            variable
            for each in involved
            for variable in (*each.filter, *new.filter)
            if set(each.filter.get(variable, ())) != set(new.filter.get(variable, ()))
        )
        known = [column for column in map(column_known, filtered) if column]
        named = [name for name in filtered if not column_known(name)]
        if known:
            advice.append(
                Text(
                    "records without {names} are left out of one and not of the other: leave them out of "
                    'both with where=, or of none with missing="code"',
                    names=", ".join(known),
                )
            )
        if named:
            advice.append(
                Text("cover the same units as before: the filter on {names} differs", names=", ".join(named))
            )
    return join(advice) or "merge cells of the new output, or use the groups of the earlier one"


def reuse(variable: str, new: Definition, released: Sequence[Definition]) -> str:
    """Return the advice to reuse the released groups of a variable; for numbers, their cut points.

    Examples
    --------
    >>> old = Definition.of({"age": {"18": "a", "19": "b", "20": "b", "21": "b"}}, [[["a"], ["b"]]])
    >>> new = Definition.of({"age": {"18": "x", "19": "x", "20": "x", "21": "y"}}, [[["x"], ["y"]]])
    >>> reuse("age", new, [old])
    'reuse the cut points of age already released: 19'
    """
    known = [each.variables[variable] for each in released if variable in each.variables]
    own = new.variables[variable]
    if not known:
        return ""
    every = {code for codes in (*known, own) for code in codes}
    numbers = {code: int(code) for code in every if code.isdecimal()}
    if len(numbers) >= len(every) - 1 and numbers:  # one code may stand for missing values
        before = set[int]().union(*(_cuts(codes, numbers) for codes in known))
        if not _cuts(own, numbers) - before:
            return ""
        points = ", ".join(map(str, sorted(before))) or Text("none")
        return Text("reuse the cut points of {name} already released: {points}", name=variable, points=points)
    if any(_blocks(own) == _blocks(codes) for codes in known):
        return ""
    groups = sorted({group for codes in known for group in codes.values() if group is not None})
    return Text(
        "reuse the groups of {name} already released: {groups}", name=variable, groups=some(groups, 8)
    )


def _cuts(codes: Mapping[str, str | None], numbers: Mapping[str, int]) -> set[int]:
    """Return the first number of every group but the lowest."""
    ordered = sorted((numbers[code], group) for code, group in codes.items() if code in numbers)
    return {number for (_, before), (number, group) in pairwise(ordered) if group != before}


def _blocks(codes: Mapping[str, str | None]) -> set[frozenset[str]]:
    """Return the sets of base codes grouped together."""
    blocks: dict[str, set[str]] = {}
    for code, group in codes.items():
        if group is not None:
            blocks.setdefault(group, set()).add(code)
    return {frozenset(block) for block in blocks.values()}


def not_testable(names: Sequence[str], what: str) -> DifferencingFinding:
    """Return the finding that an output could not be tested against others."""
    return DifferencingFinding(
        concern=Concern.NOT_TESTABLE,
        outputs=tuple(names),
        text=Text("{what} against {names}", what=what, names=some(names, 20)),
        remedy="give a definition and the units of every cell, or have a person compare them",
    )


def search_limit_finding(left_out: int, unfinished: int) -> DifferencingFinding:
    """Return the finding that the search stopped at its limit.

    Parameters
    ----------
    left_out
        Derived comparisons that were not started.
    unfinished
        Comparisons that stopped at the limit, including those of two outputs.
    """
    if unfinished:
        n = unfinished + left_out
        return DifferencingFinding(
            concern=Concern.LIMIT,
            outputs=(),
            text=Text("not decided: {n:,} comparison(s) were not finished within the limit of work", n=n),
            remedy="coarser groups leave less to compare; or have a person look at it",
        )
    return DifferencingFinding(
        concern=Concern.LIMIT,
        outputs=(),
        text=Text(
            "two outputs together were compared completely, three and more up to the limit of work: "
            "{left_out:,} comparisons of what follows were left out",
            left_out=left_out,
        ),
        remedy="coarser groups leave less to compare; or have a person look at it",
    )


def nearly_same(name: str, n_units: int) -> DifferencingFinding:
    """Return the finding that a variable follows from released ones, except for a few units."""
    return DifferencingFinding(
        concern=Concern.RELATED,
        outputs=(),
        n_units=n_units,
        text=Text(
            "{name} follows from variables released before for all but {n} unit(s), which are disclosed",
            name=name,
            n=n_units,
        ),
        remedy="release the amounts of the earlier variables only, or have a person look at it",
    )
