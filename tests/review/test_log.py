from __future__ import annotations

import pytest

from hitoku.review import Head, log, reading, writing


@pytest.fixture
def entries(context):
    with writing(context.engine) as connection:
        for number in range(4):
            log.append(connection, "yui", "vote", request=1, output=number, choice="approve")
    with reading(context.engine) as connection:
        return list(log.entries(connection))


def test_intact_log_verifies(entries):
    assert log.faults(entries, [Head(len(entries), entries[-1]["digest"])]) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("who", "sota"),
        ("at", "2026-01-01T00:00:00Z"),
        ("event", "decision"),
        ("request", 2),
        ("body", '{"choice":"change"}'),
    ],
)
def test_edited_entry_is_found(entries, name, value):
    entries[-2][name] = value
    assert any("was changed" in fault for fault in log.faults(entries))


def test_edited_entry_with_new_digest_breaks_chain(entries):
    entries[-3]["who"] = "sota"
    entries[-3]["digest"] = log._digest(entries[-3])
    assert any("does not follow" in fault for fault in log.faults(entries))


def test_removed_entry_is_found(entries):
    del entries[-2]
    assert any("missing" in fault for fault in log.faults(entries))


def test_truncated_log_is_found_by_receipt(entries):
    receipt = Head(len(entries), entries[-1]["digest"])
    assert log.faults(entries[:-1]) == []
    assert any("tail was cut" in fault for fault in log.faults(entries[:-1], [receipt]))


def test_other_log_of_equal_length_is_found(entries):
    receipt = Head(len(entries), entries[-1]["digest"])
    forked = entries[:-1]
    other = {**entries[-1], "who": "sota"}
    other["digest"] = log._digest(other)
    assert log.faults([*forked, other]) == []
    assert any("another log" in fault for fault in log.faults([*forked, other], [receipt]))


def test_exported_log_has_no_formula_and_verifies(context):
    with writing(context.engine) as connection:
        log.append(connection, "=1+1", "vote", request=1)
    with reading(context.engine) as connection:
        entries = list(log.entries(connection))
    text = log.to_csv(entries)
    assert ",'=1+1," in text
    assert log.from_csv(text) == entries


def test_exported_log_equals_the_log(entries):
    assert log.from_csv(log.to_csv(entries)) == entries
