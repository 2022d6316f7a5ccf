"""A researcher's session: ask for outputs as usual, get them protected and judged."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Unpack

from hitoku.attacks.differencing import Nested
from hitoku.checks.attackers import output_verdict
from hitoku.checks.decisions import ExceptionRequest
from hitoku.checks.evidence import Evidence
from hitoku.checks.outputs import (
    Output,
    OutputType,
    about_the_same_cells,
    collect_complete,
    find_membership,
    judge_published,
    take_over,
    withhold_cells,
    write_definition,
)
from hitoku.checks.policies import Policy
from hitoku.checks.policies import policy as policy_named
from hitoku.checks.principles import Clearance, Principle, PrincipleVerdict, worst
from hitoku.checks.session.output_methods import How, Where, refuse_unknown
from hitoku.checks.session.pandas_api import PandasApi
from hitoku.checks.submission import DraftLedger, write_submission
from hitoku.checks.unit_records import Records
from hitoku.errors import ParameterError, did_you_mean
from hitoku.messages import Text
from hitoku.model import Verdict
from hitoku.toml import Origin, validated


class Session(PandasApi):
    """Outputs about one data set, each with its evidence and verdicts.

    Every method takes ``where``, a filter such as ``{"region": ["N", "S"]}``, and ``name``, which is unique.

    Parameters
    ----------
    name
        Of the project.
    data
        pandas, polars or pyarrow frame, or the path of a Parquet or CSV file.
    unit
        Column that names the unit; left out, every record is one.
    policy
        Name of a policy, or the path of one.
    ledger
        Path of the ledger of this data set. It is read, not written: outputs enter it when they are released.
    unit_word
        What one unit is called in texts: "person", "enterprise".
    nested
        Variables each of whose codes lies in one code of another, ``{"municipality": "region"}``: a reader
        knows that, and subtracts accordingly.
    researcher
        Who submits the outputs.
    period
        Of panel data: column whose codes are periods in which the same units come back. Tables by it are
        judged within each period.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": ["0-18"] * 18 + ["19-20"] + ["21-25"] * 18})
    >>> work = Session("ages", people)
    >>> table = work.frequency_table(by="age")
    >>> table, table.remedies[0]
    (Output('frequency_table 1', frequency_table, pass), 'merge age 19-20 with 21-25')
    """

    def __init__(
        self,
        name: str,
        data: Any,
        *,
        unit: str | None = None,
        policy: str | Path | Policy = "japan-2017",
        ledger: str | Path | None = None,
        unit_word: str = "unit",
        nested: Mapping[str, str] | None = None,
        researcher: str = "",
        period: str | None = None,
    ) -> None:
        self.name = name
        self.researcher = researcher
        self.policy = policy_named(policy)
        self.records = Records.open(data, unit)
        self.outputs: list[Output] = []
        self.comments: dict[str, str] = {}
        self.requests: list[ExceptionRequest] = []
        self.period = period
        pairs = sorted((nested or {}).items())
        self._nested = [Nested(fine, coarse, self.records.within(fine, coarse)) for fine, coarse in pairs]
        self._ledger = ledger is not None
        self._begin = partial(DraftLedger, name, self.records, self.policy, ledger, unit_word)
        self._draft = self._begin()
        self._released = self._draft.ledger.names

    def output(self, asked: OutputType[Any], **how: Unpack[How]) -> Output:
        """Ask for an output of any type; the other methods are short for this one.

        A try that failed blocks nothing: its name may be used again, and the new one takes its place.

        Parameters
        ----------
        asked
            An output type with its parameters, such as ``Percentile("income", 50, by=("region",))``.
        how
            ``where``, a filter such as ``{"region": ["N", "S"]}``. ``name``, which is unique. ``like``, an
            output of this session: what it withholds is withheld here as well. Left out, that is done with an
            earlier one about the same cells where the two could otherwise be subtracted. ``withhold``, cells
            such as ``[{"region": "N", "age": "19-20"}]``: a pattern of your own, which is judged as it is; a
            variable that is left out is summed over.
        """
        if not hasattr(asked, "variables"):
            raise ParameterError(
                "output_without_type",
                "output asks for a new output, by its type",
                where="output",
                fix='Percentile("income", 50), for example; outputs that are here already are in .outputs',
            )
        refuse_unknown(how, list(How.__annotations__))
        name, like, where = how.get("name"), how.get("like"), how.get("where")
        where = {} if where is None else where
        _refuse_no_text(name, "name")
        kept = [each for each in self.outputs if each.status is not Clearance.FAIL or each.name != name]
        taken = {*self._draft.ledger.names, *(each.name for each in kept)}
        if name in taken:
            raise ParameterError(
                "output_exists",
                "there is an output {name!r} already",
                where="name",
                fix="give the new output a name of its own, or remove the other",
                name=name,
            )
        if self.period in asked.variables and hasattr(asked, "period"):
            asked = replace(asked, period=self.period)  # type: ignore[type-var]
        first = None if like is None else self._named(like)
        records = self.records.where(where)
        collected, by_hand = collect_complete(asked, records), how.get("withhold")
        if by_hand is None:
            evidence = asked.protect(collected, self.policy)
        else:
            evidence = withhold_cells(asked, collected, by_hand)
        draft = Draft(asked, records, evidence, where, name or free_name(asked.kind, taken))
        made = self._compared(self._judged(draft, first))
        if made.status is Clearance.FAIL and first is None and by_hand is None:
            made = self._fitted(made, draft)
        self.outputs = [*kept, made]
        return made

    def _judged(self, draft: Draft, like: Output | None = None) -> Output:
        """Judge an output by itself."""
        asked = draft.asked
        evidence = draft.evidence if like is None else take_over(asked, draft.evidence, like)
        about, where = {*asked.variables, *draft.where}, self.records.filter_codes(draft.where)
        return Output(
            name=draft.name,
            kind=asked.kind,
            definition=write_definition(asked),
            where=where,
            evidence=evidence,
            nested=tuple(each for each in self._nested if each.fine in about),
            published=asked.publish(evidence),
            policy={"name": self.policy.name, "version": self.policy.version, "hash": self.policy.hash},
            data=self.records.hash,
            verdicts=judge_published(asked, evidence, where, self.policy),
            membership=find_membership(asked, draft.records, evidence),
            like="" if like is None else like.name,
        )

    def _compared(self, made: Output) -> Output:
        # What does not leave gives nothing away, and need not be compared.
        if made.status is Clearance.FAIL:
            return made
        return made.checked(*self._draft.compare(made, made.asked.measures(self.records)))

    def _fitted(self, failed: Output, draft: Draft) -> Output:
        """Try the pattern of an earlier output about the same cells, where differences are all that fails."""
        own = [v for v in failed.verdicts if v.principle is not Principle.DIFFERENCING]
        if worst(own) is Clearance.FAIL:
            return failed
        for earlier in self.outputs:
            if earlier.status is not Clearance.FAIL and about_the_same_cells(failed, earlier):
                made = self._judged(draft, earlier)
                empty = bool(made.evidence.withheld.all())
                if empty or made.status is Clearance.FAIL or self._draft.clashes(made):
                    continue
                made = self._compared(made)
                if made.status is not Clearance.FAIL:
                    return made
        others = [each.name for each in self.outputs if about_the_same_cells(each, failed)]
        return replace(failed, verdicts=tuple(_in_order(verdict, others) for verdict in failed.verdicts))

    def _named(self, output: str | Output) -> Output:
        """Find an output of this session."""
        name = output.name if isinstance(output, Output) else output
        for each in self.outputs:
            if each.name == name:
                return each
        known = [each.name for each in self.outputs]
        raise ParameterError(
            "unknown_output",
            "no output {output!r}",
            where="output",
            fix=did_you_mean(name, known),
            output=name,
        )

    def verdict(self, output: str | Output) -> Verdict:
        """Return the verdict on an output, one row per attacker."""
        return output_verdict(self._named(output).verdicts, ledger=self._ledger, against=self.policy.against)

    def remove(self, output: str | Output) -> None:
        """Take an output back; later ones are compared again without it."""
        gone = self._named(output)
        self._again([each for each in self.outputs if each is not gone])
        self.comments.pop(gone.name, None)
        self.requests = [each for each in self.requests if each.output != gone.name]

    def rename(self, output: str | Output, name: str) -> Output:
        """Give an output another name."""
        old = self._named(output)
        _refuse_no_text(name, "name")
        if name in {*self._released, *(each.name for each in self.outputs if each is not old)}:
            raise ParameterError(
                "output_exists",
                "there is an output {name!r} already",
                where="name",
                fix="choose another",
                name=name,
            )
        self._again(
            [
                replace(
                    each,
                    name=name if each is old else each.name,
                    like=name if each.like == old.name else each.like,
                )
                for each in self.outputs
            ]
        )
        self.requests = [
            each.model_copy(update={"output": name}) if each.output == old.name else each
            for each in self.requests
        ]
        if old.name in self.comments:
            self.comments[name] = self.comments.pop(old.name)
        return self._named(name)

    def comment(self, output: str | Output, text: str) -> None:
        """Say something about an output to the checker; what was said before stays."""
        name = self._named(output).name
        _refuse_no_text(text, "text")
        self.comments[name] = "\n".join(filter(None, [self.comments.get(name, ""), text]))

    def request_exception(
        self,
        output: str | Output,
        *,
        principle: str,
        reason: str,
        cells: Sequence[Mapping[str, str]] | Literal["all"] = (),
        facts: Mapping[str, Any] | None = None,
    ) -> ExceptionRequest:
        """Ask that an output, or some cells of it, leave although a principle says no; the checker decides.

        Parameters
        ----------
        output
            Which.
        principle
            Which principle stands in the way, such as "units" or "dominance".
        reason
            Why it may leave all the same, in words.
        cells
            Withheld numbers that should leave, by their codes, such as ``[{"region": "N", "age": "19-20"}]``.
        facts
            What it rests on: ``sampling_fraction``, ``observability``, ``year``, ``structural_zeros``.
        """
        named = self._named(output)
        if not isinstance(cells, str) or cells != "all":
            withhold_cells(named.asked, named.evidence, cells)  # refuses what is no cell
        asked = validated(
            ExceptionRequest,
            {
                "output": named.name,
                "principle": principle,
                "reason": reason,
                "cells": cells if isinstance(cells, str) else tuple(dict(cell) for cell in cells),
                "facts": {} if facts is None else facts,
            },
            Origin("request_exception"),
            otherwise="see the documentation",
        )
        self.requests = [*self.requests, asked]
        return asked

    def _again(self, outputs: Sequence[Output]) -> None:
        """Compare outputs with one another from the beginning."""
        self._draft = self._begin()
        self.outputs = []
        for each in outputs:
            own = tuple(v for v in each.verdicts if v.principle is not Principle.DIFFERENCING)
            self.outputs.append(self._compared(replace(each, verdicts=own)))

    def submit(self, path: str | Path) -> Path:
        """Write all outputs with their evidence into a new folder for ``hitoku check``; return it."""
        return write_submission(
            path,
            self.name,
            self.outputs,
            self.policy,
            researcher=self.researcher,
            unit=self.records.unit_column,
            n_units=self.records.n_units,
            n_records=len(self.records),
            requests=self.requests,
            comments=self.comments,
        )

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.outputs)} output(s) would be submitted"]
        for each in self.outputs:
            lines.append(f"  {each.name} ({each.kind}): {each.status}")
            lines.append(f"      {self.verdict(each)}")
            said = [f"{v.principle}: {v.text}" for v in each.verdicts if v.status is not Clearance.PASS]
            lines += [f"      {text}" for text in (*each.notes, *said)]
            lines += [f"      {request}" for request in self.requests if request.output == each.name]
            lines += [f"      comment: {text}" for text in self.comments.get(each.name, "").splitlines()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        tally = [output.status for output in self.outputs]
        counts = ", ".join(f"{tally.count(status)} {status}" for status in Clearance)
        return f"Session({self.name!r}, {len(tally)} outputs: {counts})"


@dataclass(frozen=True, eq=False, repr=False)
class Draft:
    """An output that was asked for, before it is judged."""

    asked: OutputType[Any]
    records: Records
    evidence: Evidence
    where: Where
    name: str


def _refuse_no_text(given: object, what: str) -> None:
    if given is not None and not isinstance(given, str):
        raise ParameterError(
            "output_property_not_text",
            "the {property} of an output is no text",
            where=what,
            fix="put it into quotes",
            property=what,
        )


def _in_order(verdict: PrincipleVerdict, others: Sequence[str]) -> PrincipleVerdict:
    """Say how two outputs about the same cells fit: the one that withholds more comes first."""
    named = [name for name in others if name in verdict.outputs]
    if not named or verdict.principle is not Principle.DIFFERENCING:
        return verdict
    advice = Text(
        "remove {name} and ask for it again after this one: it takes over what this one withholds",
        name=named[0],
    )
    return replace(verdict, remedy=advice)


def free_name(kind: str, taken: Collection[str]) -> str:
    """Return a name that no output has, neither released nor of this session.

    Examples
    --------
    >>> free_name("mode", {"mode 1"})
    'mode 2'
    """
    number = 1
    while f"{kind} {number}" in taken:
        number += 1
    return f"{kind} {number}"
