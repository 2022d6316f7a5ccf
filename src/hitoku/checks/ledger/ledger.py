"""Ledger of released outputs, with differencing checks for new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.attacks.differencing import (
    COUNTS,
    Definition,
    DifferencingSearch,
    Nested,
    Partition,
    SingledOut,
    unit_keys,
    verify,
)
from hitoku.checks.ledger.differencing_finding import (
    Concern,
    DifferencingFinding,
    Speaker,
    nearly_same,
    not_testable,
    search_limit_finding,
)
from hitoku.checks.ledger.entry import Entry, Measure, failing, half_width, output_key
from hitoku.checks.ledger.related_amounts import Related, amounts_in, judge_related, published_by
from hitoku.checks.ledger.settings import (
    ALL_TOGETHER,
    DEPTH,
    describe_tests,
    is_allowed_group,
    published_ranks,
    publishes_counts,
)
from hitoku.checks.ledger.store import LedgerStore, damage_error, fresh_store, read_store
from hitoku.checks.ledger.units import (
    Numbering,
    Pseudonyms,
    Vectors,
    hash_secret,
    other_data,
    read_vector,
)
from hitoku.checks.principles import Clearance, Principle, PrincipleVerdict, Said
from hitoku.errors import ParameterError, some
from hitoku.messages import Text, join
from hitoku.rules import Rule


class Ledger:
    """Released outputs of a data set, stored on disk.

    Created by :meth:`open`. One ledger serves a data set. Projects that use the data share it, because
    outputs of different projects can be subtracted from each other.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "wages.ledger"
    >>> ages = np.repeat([10, 19, 25], [18, 1, 38])
    >>> ledger = Ledger.open(path, data_hash="a1", n_units=57)
    >>> ledger.remember("first", [Partition.published("first", np.where(ages <= 18, 1, 2))])
    >>> ledger = Ledger.open(path, data_hash="a1", n_units=57)  # another day
    >>> for finding in ledger.check("second", [Partition.published("second", np.where(ages <= 20, 1, 2))]):
    ...     print(finding)
    a group: 39 - 38 = 1 unit, from first and second (not classified)
    >>> ledger.scope
    'all outputs tested together'
    """

    def __init__(
        self, store: LedgerStore, search: DifferencingSearch, project: str, vectors: Vectors
    ) -> None:
        self.path, self.project = store.path, project
        self.search, self.unit = search, "unit"
        self._store, self._vectors = store, vectors
        self._draft = True
        self._entries: dict[str, Entry] = {}
        self._parts: dict[str, list[Partition]] = {}
        self._data_hash = ""
        self._numbering = Numbering(store.path, search.n_units)
        self._made: tuple[tuple[str | Partition, ...], list[Partition]] | None = None
        self._relations: Callable[[Sequence[str]], Related] | None = None
        self._related = Related()
        self._complete = False

    @classmethod
    def open(
        cls,
        path: str | Path | None,
        *,
        data_hash: str,
        n_units: int,
        threshold: int = 10,
        depth: int | None = None,
        project: str = "",
        unit: str = "unit",
        units: Iterable[object] | None = None,
        contents: Pseudonyms | None = None,
        draft: bool = False,
        store: LedgerStore | None = None,
        relations: Callable[[Sequence[str]], Related] | None = None,
    ) -> Ledger:
        """Open a ledger, or prepare a new one; nothing is written yet.

        Parameters
        ----------
        path
            Path of the ledger; None for a draft without file.
        data_hash
            Hash of the data; a ledger serves one data set. With ``units`` the data may differ: other extracts
            and later deliveries about the same units are tested together.
        n_units
            Number of units in the data.
        threshold
            Minimum size of a group that may be singled out. Default: 10.
        depth
            Maximum number of outputs tested together. Default: the ledger's setting.
        project
            Project of the new outputs; the outputs of other projects are shown with their project.
        unit
            Displayed name of a unit: "person", "enterprise".
        units
            Identifier of every unit, in the order in which outputs number them. The ledger stores pseudonyms,
            and numbers a unit alike in all extracts. An array of integers is used as hashes.
        contents
            Hash of the records of every unit, in the same order: renumbered units are recognised by it.
        draft
            Whether to keep outputs in memory only.
        store
            The ledger's store, if it is open already.
        relations
            Returns how variables depend on each other. Default: only amounts of one variable are compared.
        """
        place = Path(path or "ledger")
        if store is None and path is not None and place.exists():
            store = read_store(place)
        if store is None:
            begin = {
                "data_hash": data_hash,
                "n_units": n_units,
                "depth": DEPTH if depth is None else depth,
                "by_name": units is not None,
            }
            store = fresh_store(place, begin | ({"n_units": 0} if units is not None else {}))
        begun = store.lines[0].body
        if depth not in {None, store.depth}:
            raise ParameterError(
                "ledger_depth_exceeded",
                "the ledger tests up to {depth} outputs together, not {n}",
                where=str(place),
                fix="leave depth out, or begin another and release everything again",
                depth=store.depth,
                n=depth,
            )
        if not begun["by_name"] and (begun["data_hash"] != data_hash or begun["n_units"] != n_units):
            raise other_data(place)
        numbering = (
            Numbering.by_name(store, units, contents) if begun["by_name"] else Numbering(place, n_units)
        )
        vectors = Vectors(numbering.n_units)
        keys = unit_keys(vectors.n_units, hash_secret(store.key))
        search = DifferencingSearch(vectors.n_units, threshold=threshold, depth=store.depth, keys=keys)
        ledger = cls(store, search, project, vectors)
        ledger.unit, ledger._data_hash, ledger._draft = unit, data_hash, draft
        ledger._numbering, ledger._relations = numbering, relations
        for plain in store.of("output"):
            ledger._load(Entry.from_dict(plain))
        return ledger

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the stored outputs, in order, with the project if it is another one."""
        return tuple(map(self._display_name, self._entries))

    @property
    def _unknown(self) -> list[str]:
        return [key for key, entry in self._entries.items() if entry.parts is None]

    @property
    def said(self) -> dict[str, tuple[Said, ...]]:
        """Released statistics of the same data, by output."""
        return {
            self._display_name(key): entry.said
            for key, entry in self._entries.items()
            if entry.said and entry.data_hash == self._data_hash
        }

    @property
    def scope(self) -> str:
        """Description of the scope of the test; never "safe"."""
        tested = ALL_TOGETHER if self._complete else describe_tests(self.search.depth)
        said, known = [tested], self._n_known
        if known and (new := self._numbering.n_new(known)):
            n = self._numbering.n_own
            said.append(Text("{new:,} of {n:,} units are new to the ledger", new=new, n=n))
        if stopped := [self._display_name(key) for key, entry in self._entries.items() if entry.left_out]:
            said.append(Text("the implications of {names} are not completely known", names=some(stopped, 3)))
        return join(said)

    @property
    def _n_known(self) -> int:
        """Number of units in the stored ledger."""
        return sum(plain["units"]["n_units"] for plain in self._store.of("output") if "units" in plain)

    @property
    def key(self) -> bytes:
        """Secret key for :func:`unit_numbers`."""
        return self._store.key

    def check(
        self,
        name: str,
        parts: Sequence[Partition] | None,
        definition: Definition | None = None,
        measures: Mapping[str, Measure] | None = None,
        *,
        rules: Sequence[Rule] = (),
        percent: float = 10.0,
        nested: Sequence[Nested] = (),
    ) -> list[DifferencingFinding]:
        """Return what an output would disclose together with earlier ones, without storing it.

        Parameters
        ----------
        name
            Name of the output.
        parts
            Partitions of the units: inner cells and each kind of total. None if the members of its cells are
            unknown.
        definition
            Definition of its cells; it may cover only the first partitions.
        measures
            Variables of which it publishes sums or means.
        rules
            Rules for derived groups whose measure is known in all cells.
        percent
            Rounding protects a derived sum if its error is at least this percentage of the largest
            contribution.
        nested
            Variables nested in others.
        """
        key = self._free(name)
        if parts is None:
            known = list(self._entries)
            return [self._not_testable(known, Text("{name} is not testable", name=name))] if known else []
        own = self._own(key, parts, definition)
        self._relate(own)
        small, bounds, self._complete = self.search.together(own)
        every = {**self._parts, key: own}
        speaker = Speaker(
            new=key,
            definitions={**{k: entry.definition for k, entry in self._entries.items()}, key: definition},
            nested=nested,
            size=lambda cell: int(every[cell[0]][cell[1]].sizes[cell[2]]),
            shown=self._display_name,
            unit=self.unit,
        )
        publishes = {each: published_by(its) for each, its in every.items() if its}
        by_what: dict[str, list[SingledOut]] = {}
        related: list[SingledOut] = []
        for group in (each for each in small if not is_allowed_group(each, publishes)):
            common = frozenset[str].intersection(*(publishes[name] for name in group.outputs))
            if not common:
                related.append(group)
                continue
            said = sorted(each for each in common if not published_ranks([each]))
            named = Text("by statements about {names}", names=some(said, 3))
            by_what.setdefault("" if publishes_counts(common) else named, []).append(group)
        findings = [
            finding
            for what, groups in by_what.items()
            for finding in speaker.findings(groups, Concern.SMALL_GROUP, what)
        ]
        for names, follow, groups in judge_related(related, every, self._related):
            concern = Concern.SMALL_GROUP if follow else Concern.RELATED
            findings += speaker.findings(groups, concern, Text("by {names}", names=Text(names)))
        for group, added in bounds:
            common = frozenset[str].intersection(*(publishes[name] for name in group.outputs))
            findings.append(speaker.bound(group, added, decided=bool(common)))
        findings += [
            nearly_same(new, n)
            for variables, n in self._related.nearly.items()
            for new in amounts_in(published_by(own))
            if variables.difference(self._amounts()) == {new}
        ]
        if measures and rules:
            findings += self._magnitudes(own, measures, rules, percent, speaker)
        if self._unknown:
            findings.append(self._not_testable(self._unknown, Text("not testable")))
        found = self.search.searched(own)
        # The rules for magnitudes are tested for the groups that the search derives.
        if (found.left_out or found.unfinished) and (not self._complete or (measures and rules)):
            findings.append(search_limit_finding(found.left_out, found.unfinished))
        return findings

    def _amounts(self) -> list[str]:
        """Return the variables with released amounts, in the order of their release."""
        listed = [amounts_in(published_by(parts)) for parts in self._parts.values()]
        return list(dict.fromkeys(name for names in listed for name in names))

    def _relate(self, own: Sequence[Partition]) -> None:
        """Find out how the amounts of an output depend on released ones, and compare those that do."""
        if self._relations is not None:
            related = self._relations([*self._amounts(), *amounts_in(published_by(own))])
            if related is not self._related:
                self._related = related
                self.search.compare_by(related.add_common_names)

    def clashes(
        self, name: str, parts: Sequence[Partition] | None, definition: Definition | None = None
    ) -> bool:
        """Return whether an output singles out a small group together with one other.

        Fast screening: False does not mean safe.

        Parameters
        ----------
        name, parts, definition
            As in :meth:`check`.
        """
        if parts is None:
            return False
        key = self._free(name)
        own = self._own(key, parts, definition)
        self._relate(own)
        publishes = {each: published_by(its) for each, its in {**self._parts, key: own}.items() if its}
        return any(
            not is_allowed_group(each, publishes)
            and frozenset[str].intersection(*(publishes[name] for name in each.outputs))
            for each in self.search.clashes(own)
        )

    def verdicts(self, findings: Sequence[DifferencingFinding]) -> tuple[PrincipleVerdict, ...]:
        """Convert findings to verdicts; without findings, return the scope of the test."""
        if findings:
            return tuple(finding.verdict for finding in findings)
        n_outputs = len(self._entries)
        passed = PrincipleVerdict(
            principle=Principle.DIFFERENCING,
            status=Clearance.PASS,
            reason="nothing_found",
            text=Text("{scope}, against {n} released before", scope=self.scope, n=n_outputs)
            if n_outputs
            else "nothing before it",
            numbers={
                "outputs": n_outputs,
                "together": n_outputs + 1 if self._complete else self.search.depth,
            },
        )
        return (passed,)

    def remember(
        self,
        name: str,
        parts: Sequence[Partition] | None,
        definition: Definition | None = None,
        measures: Mapping[str, Measure] | None = None,
        *,
        published: Any = None,
        said: Sequence[Said] = (),
    ) -> None:
        """Store a released output.

        Parameters
        ----------
        name, parts, definition, measures
            As in :meth:`check`.
        published
            Published values, JSON-compatible.
        said
            Released statistics of variables, with the codes of their groups and the filter.
        """
        key = self._free(name)
        own = None if parts is None else self._own(key, parts, definition)
        if own:
            self._relate(own)
        found = self.search.searched(own) if own else None
        remembered = Entry(
            name=name,
            project=self.project,
            data_hash=self._data_hash,
            definition=definition,
            published=published,
            measures={each: measure.as_dict() for each, measure in (measures or {}).items()},
            parts=None if own is None else (),
            derived=(),
            publishes=published_by(own) if own else COUNTS,
            left_out=found.left_out + found.unfinished if found else 0,
            said=tuple(said),
        )
        self._entries[key] = remembered if self._draft else self._store_output(remembered, own)
        if own is not None:
            self.search.release(own)
            self._vectors.follow([part.codes for part in own])
            self._parts[key] = own

    def _store_output(self, entry: Entry, own: Sequence[Partition] | None) -> Entry:
        """Write an output with its partitions and derived groups; return the stored entry."""
        number = len(self._entries)
        contents: dict[str, bytes] = {}
        if own is not None:
            parts = []
            for place, part in enumerate(own):
                file = f"{number:05}-{place:02}.codes"
                contents[file], known = self._vectors.pack(part.codes)
                hashes = [f"{int(h):016x}" for h in part.hashes]
                # Quantities of one period belong to its partition alone.
                publishes = {} if part.publishes == entry.publishes else {"publishes": sorted(part.publishes)}
                sizes = part.sizes[1:].tolist()
                parts.append({"file": file, **known, "hashes": hashes, "sizes": sizes, **publishes})
            derived = tuple(part.certificates for part in self.search.follows(own))
            entry = replace(entry, parts=tuple(parts), derived=derived)
        body = entry.as_dict()
        if packed := self._numbering.pack_new(self._n_known, number):
            body["units"], new = packed
            contents |= new
        self._store.append("output", body, contents)
        return entry

    def _load(self, entry: Entry) -> None:
        key = output_key(entry.project, entry.name)
        self._entries[key] = entry
        if entry.parts is None:
            return
        own = [
            Partition.published(
                key,
                self._vectors.unpack(read_vector(self._store, part), part),
                part=place,
                keys=self.search.keys,
                publishes=frozenset(part.get("publishes", entry.publishes)),
            )
            for place, part in enumerate(entry.parts)
        ]
        if any(
            [int(h, 16) for h in part["hashes"]] != made.hashes.tolist()
            for part, made in zip(entry.parts, own, strict=True)
        ):
            raise damage_error(
                self.path, f"the units of output {entry.name} are not those it was released with"
            )
        self.search.restore(own, entry.derived)
        self._vectors.follow([part.codes for part in own])
        self._parts[key] = own

    def unused(self, name: str) -> str:
        """Return an unused name for an output, with a number appended if needed."""
        number, found = 1, name
        while output_key(self.project, found) in self._entries:
            number += 1
            found = f"{name} #{number}"
        return found

    def _free(self, name: str) -> str:
        key = output_key(self.project, name)
        if key in self._entries:
            raise ParameterError(
                "output_already_in_ledger",
                "output {name!r} exists in the ledger already",
                where=str(self.path),
                fix="give the new output a unique name",
                name=name,
            )
        return key

    def _own(self, key: str, parts: Sequence[Partition], definition: Definition | None) -> list[Partition]:
        """Rebuild the partitions with the ledger's name for the output and its secret."""
        n = 0 if definition is None else len(definition.parts)
        if definition is not None and list(map(len, definition.parts)) != list(map(len, parts[:n])):
            raise ParameterError(
                "definition_without_published_cells",
                "a definition must list the published cells of every partition",
                where="output {output}",
                fix="list the groups of each cell, in the order of the cell numbers",
                output=key,
            )
        if self._made is None or self._made[0] != (key, *parts):
            made = [
                Partition.published(
                    key,
                    self._numbering.spread(part),
                    part=place,
                    keys=self.search.keys,
                    publishes=part.publishes,
                )
                for place, part in enumerate(parts)
            ]
            # Cached, so that storing an output does not repeat the search of its check.
            self._made = (key, *parts), made
        return self._made[1]

    def _magnitudes(
        self,
        own: list[Partition],
        measures: Mapping[str, Measure],
        rules: Sequence[Rule],
        percent: float,
        speaker: Speaker,
    ) -> list[DifferencingFinding]:
        """Check sums of derived groups of any size against the rules for magnitudes."""
        carried = {key: entry.measures for key, entry in self._entries.items()}
        every = {**self._parts, speaker.new: own}
        places = {(key, place): part for key, parts in every.items() for place, part in enumerate(parts)}
        carried[speaker.new] = {name: measure.as_dict() for name, measure in measures.items()}
        groups = [*self.search.check(own), *self.search.exact(own)]
        findings: list[DifferencingFinding] = []
        for name, measure in measures.items():
            amounts = self._numbering.amounts(name, measure)
            common = [
                group
                for group in groups
                if speaker.new in group.outputs and all(name in carried[output] for output in group.outputs)
            ]
            blur = np.array([half_width(group, name, carried, speaker.size) for group in common])
            by_rule: dict[str, list[SingledOut]] = {}
            for place, rule in failing(common, amounts, blur, rules, percent).items():
                by_rule.setdefault(rule, []).append(common[place])
            for rule, failed in by_rule.items():
                verify(failed, places)
                findings += speaker.findings(
                    failed, Concern.MAGNITUDE, Text("{name} fails {rule}", name=name, rule=rule)
                )
        return findings

    def _not_testable(self, keys: Sequence[str], what: str) -> DifferencingFinding:
        return not_testable([self._display_name(key) for key in keys], what)

    def _display_name(self, key: str) -> str:
        """Return the displayed name of an output, with its project if it is another one."""
        project, _, name = key.partition("/")
        return name if project == self.project else f"{name} (project {project or 'without a name'})"
