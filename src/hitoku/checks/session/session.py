"""A researcher's session, which protects and judges every output."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Unpack

from hitoku.attacks.differencing import Nested
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
from hitoku.checks.principles import Clearance, Principle, PrincipleVerdict, output_verdict, worst
from hitoku.checks.session.output_methods import OutputOptions, Where, refuse_unknown
from hitoku.checks.session.pandas_api import PandasApi
from hitoku.checks.submission import DraftLedger, write_submission
from hitoku.checks.unit_records import Records
from hitoku.errors import ParameterError, did_you_mean
from hitoku.messages import Text
from hitoku.model import Verdict
from hitoku.toml import Origin, validate_keys


class Session(PandasApi):
    """A research project on one data set, with its outputs and their verdicts.

    Each method that makes an output, such as :meth:`frequency_table`, :meth:`mean` or :meth:`regression`,
    suppresses the numbers that would break the policy, judges what is left, and compares it with earlier
    outputs of the session and of the ledger. :meth:`submit` writes the outputs with the evidence that a
    checker needs.

    Parameters
    ----------
    name
        Name of the project.
    data
        pandas, polars or pyarrow frame, or the path of a Parquet or CSV file.
    unit
        Column that identifies the unit, such as a person or an enterprise. Default: every record is a unit.
    policy
        Name of a policy that comes with hitoku, the path of a policy file, or a :class:`Policy`.
    ledger
        Path of the ledger of released outputs of this data set. It is only read: outputs are added when they
        are released. Default: outputs are compared with those of this session only.
    unit_word
        Singular noun for one unit in messages: "person", "enterprise".
    nested
        Variables each of whose codes lies in one code of another variable, such as
        ``{"municipality": "region"}``. An attacker who knows this can subtract the finer table from the
        coarser one.
    researcher
        Name of the person who submits the outputs.
    period
        Column of periods, for panel data with the same units in every period. Shares in tables by this
        column are judged within each period.

    Attributes
    ----------
    outputs
        Outputs in the order in which they were made.
    records
        Data with one row per record.
    policy
        Policy that every output must meet.
    comments
        Comments on outputs for the checker, by output name.
    requests
        Requested exceptions.

    Examples
    --------
    A table with an age group of one person. The group is suppressed, and a second one with it, because the
    total minus the others would give it back.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": ["0-18"] * 18 + ["19-20"] + ["21-25"] * 18})
    >>> work = Session("ages", people)
    >>> table = work.frequency_table(by="age")
    >>> table
    Output('frequency_table 1', frequency_table, pass)
    >>> table.remedies[0]
    'merge age 19-20 with 21-25'
    >>> print(work.submit("submission"))  # doctest: +SKIP
    submission
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

    def output(self, asked: OutputType[Any], **options: Unpack[OutputOptions]) -> Output:
        """Make an output of any type; the other methods call this one.

        The output is added to :attr:`outputs`. An output that failed does not occupy its name: a later output
        of the same name replaces it.

        Parameters
        ----------
        asked
            Output type with its parameters, such as ``Percentile("income", 50, by=("region",))``.
        options
            ``where``, ``name``, ``like`` and ``withhold``, as in :class:`OutputOptions`.

        Returns
        -------
        The output, protected and judged. Its :attr:`~Output.status` is "pass", "review" or "fail".

        Raises
        ------
        ParameterError
            If ``asked`` is not an output type, the name is in use, or an option, column or cell is unknown.
        """
        if not hasattr(asked, "variables"):
            raise ParameterError(
                "output_without_type",
                "an output is made from its type",
                where="output",
                fix='such as Percentile("income", 50); outputs that exist are in .outputs',
            )
        refuse_unknown(options, list(OutputOptions.__annotations__))
        name, like, where = options.get("name"), options.get("like"), options.get("where")
        where = {} if where is None else where
        _refuse_no_text(name, "name")
        kept = [each for each in self.outputs if each.status is not Clearance.FAIL or each.name != name]
        taken = {*self._draft.ledger.names, *(each.name for each in kept)}
        if name in taken:
            raise ParameterError(
                "output_exists",
                "output {name!r} exists already",
                where="name",
                fix="choose another name, or remove the output",
                name=name,
            )
        if self.period in asked.variables and hasattr(asked, "period"):
            asked = replace(asked, period=self.period)  # type: ignore[type-var]
        first = None if like is None else self._find_output(like)
        records = self.records.where(where)
        collected, by_hand = collect_complete(asked, records), options.get("withhold")
        if by_hand is None:
            evidence = asked.protect(collected, self.policy)
        else:
            evidence = withhold_cells(asked, collected, by_hand)
        draft = Draft(asked, records, evidence, where, name or free_name(asked.kind, taken))
        made = self._compare(self._judge(draft, first))
        if made.status is Clearance.FAIL and first is None and by_hand is None:
            made = self._reuse_pattern(made, draft)
        self.outputs = [*kept, made]
        return made

    def _judge(self, draft: Draft, like: Output | None = None) -> Output:
        """Judge an output without comparing it with others."""
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

    def _compare(self, made: Output) -> Output:
        # An output that fails is not released, so it discloses nothing.
        if made.status is Clearance.FAIL:
            return made
        return made.checked(*self._draft.compare(made, made.asked.measures(self.records)))

    def _reuse_pattern(self, failed: Output, draft: Draft) -> Output:
        """Apply the pattern of an earlier output on the same cells, if only differencing fails."""
        own = [v for v in failed.verdicts if v.principle is not Principle.DIFFERENCING]
        if worst(own) is Clearance.FAIL:
            return failed
        for earlier in self.outputs:
            if earlier.status is not Clearance.FAIL and about_the_same_cells(failed, earlier):
                made = self._judge(draft, earlier)
                empty = bool(made.evidence.withheld.all())
                if empty or made.status is Clearance.FAIL or self._draft.clashes(made):
                    continue
                made = self._compare(made)
                if made.status is not Clearance.FAIL:
                    return made
        others = [each.name for each in self.outputs if about_the_same_cells(each, failed)]
        return replace(failed, verdicts=tuple(_in_order(verdict, others) for verdict in failed.verdicts))

    def _find_output(self, output: str | Output) -> Output:
        """Return an output of this session; raise ParameterError for an unknown name."""
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
        """Return the verdict on an output, with one row per attacker.

        Parameters
        ----------
        output
            The output, or its name.

        Examples
        --------
        >>> import pandas as pd
        >>> work = Session("ages", pd.DataFrame({"age": ["0-18"] * 18 + ["21-25"] * 18}))
        >>> work.verdict(work.frequency_table("age"))["outsider"].status
        <Status.PASSED: 'passed'>
        """
        return output_verdict(
            self._find_output(output).verdicts, ledger=self._ledger, against=self.policy.against
        )

    def remove(self, output: str | Output) -> None:
        """Remove an output, with its comments and requests; later outputs are compared again without it.

        Parameters
        ----------
        output
            The output, or its name.
        """
        gone = self._find_output(output)
        self._again([each for each in self.outputs if each is not gone])
        self.comments.pop(gone.name, None)
        self.requests = [each for each in self.requests if each.output != gone.name]

    def rename(self, output: str | Output, name: str) -> Output:
        """Rename an output.

        Parameters
        ----------
        output
            The output, or its name.
        name
            New name, unique in the session and the ledger.

        Returns
        -------
        The output under its new name.
        """
        old = self._find_output(output)
        _refuse_no_text(name, "name")
        if name in {*self._released, *(each.name for each in self.outputs if each is not old)}:
            raise ParameterError(
                "output_exists",
                "output {name!r} exists already",
                where="name",
                fix="choose another name",
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
        return self._find_output(name)

    def comment(self, output: str | Output, text: str) -> None:
        """Add a comment for the checker to an output, after earlier ones.

        Parameters
        ----------
        output
            The output, or its name.
        text
            Comment. Checkers and the researcher can read it.
        """
        name = self._find_output(output).name
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
        """Request the release of an output, or of suppressed cells, in spite of a principle.

        The checker decides; the verdicts do not change.

        Parameters
        ----------
        output
            The output, or its name.
        principle
            Principle that the output does not pass, such as "units" or "dominance".
        reason
            Reason why it may be released.
        cells
            Suppressed cells to release, by their codes, such as ``[{"region": "N", "age": "19-20"}]``, or
            "all". Default: the output as it is.
        facts
            Facts about the data that support the request: ``sampling_fraction``, ``observability``, ``year``
            and ``structural_zeros``, as in :class:`Facts`.

        Returns
        -------
        The request, which is submitted with the outputs.
        """
        named = self._find_output(output)
        if not isinstance(cells, str) or cells != "all":
            withhold_cells(named.asked, named.evidence, cells)  # raises for unknown cells
        asked = validate_keys(
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
        """Compare all outputs again, in order."""
        self._draft = self._begin()
        self.outputs = []
        for each in outputs:
            own = tuple(v for v in each.verdicts if v.principle is not Principle.DIFFERENCING)
            self.outputs.append(self._compare(replace(each, verdicts=own)))

    def submit(self, path: str | Path) -> Path:
        """Write a submission: all outputs with their evidence, for ``hitoku check``.

        The folder holds confidential evidence and must stay in the secure environment.

        Parameters
        ----------
        path
            New or empty folder.

        Returns
        -------
        Path of the folder.

        Raises
        ------
        OutputError
            If there is no output, or the folder is not empty or cannot be written.
        """
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
    """A protected output that has not been judged."""

    asked: OutputType[Any]
    records: Records
    evidence: Evidence
    where: Where
    name: str


def _refuse_no_text(given: object, what: str) -> None:
    if given is not None and not isinstance(given, str):
        raise ParameterError(
            "output_property_not_text",
            "the {property} of an output must be text",
            where=what,
            fix="put it in quotes",
            property=what,
        )


def _in_order(verdict: PrincipleVerdict, others: Sequence[str]) -> PrincipleVerdict:
    """Return how to make two outputs about the same cells consistent."""
    named = [name for name in others if name in verdict.outputs]
    if not named or verdict.principle is not Principle.DIFFERENCING:
        return verdict
    advice = Text(
        "remove {name} and request it again after this one: it adopts the suppression pattern of this one",
        name=named[0],
    )
    return replace(verdict, remedy=advice)


def free_name(kind: str, taken: Collection[str]) -> str:
    """Return a name for an output that is not in use, neither in the ledger nor in the session.

    Examples
    --------
    >>> free_name("mode", {"mode 1"})
    'mode 2'
    """
    number = 1
    while f"{kind} {number}" in taken:
        number += 1
    return f"{kind} {number}"
