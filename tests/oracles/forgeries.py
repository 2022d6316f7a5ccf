"""Ways to falsify a certificate. Each changes its content in place and returns what the verifier must say.

The forger is clever enough to put a fresh fingerprint on afterwards.
"""

from __future__ import annotations

import gzip
import hashlib
import json

from hitoku.evidence.verify import fingerprint


def reseal(folder, change=None):
    """Change the certificate of a release folder, list the public files as they are now, and sign it."""
    (path,) = (folder / "checker").glob("certificate.json*")
    raw = path.read_bytes()
    packed = raw[:2] == b"\x1f\x8b"
    content = json.loads(gzip.decompress(raw) if packed else raw)
    public = folder / "public"
    content["files"] = {
        file.relative_to(public).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in public.rglob("*")
        if file.is_file()
    }
    if change is not None:
        change(content)
    content["sha256"] = fingerprint(content)
    text = json.dumps(content).encode()
    path.write_bytes(gzip.compress(text) if packed else text)


def pick(content, rng):
    """Choose a witness that some unsafe cell needs, one of its entries, and such a cell."""
    need = rng.choice([u for u in content["unsafe"] if u["low"] is not None or u["high"] is not None])
    side = rng.choice([s for s in ("low", "high") if need[s] is not None])
    witness = content["witnesses"][need[side]]
    return need, side, witness, rng.randrange(len(witness["cells"]))


def move_one(content, rng):
    _, _, witness, place = pick(content, rng)
    witness["differences"][place] += rng.choice([-1, 1])
    return "does not add up in relation|leaves the bounds"


def drop_entry(content, rng):
    _, _, witness, place = pick(content, rng)
    del witness["cells"][place], witness["differences"][place]
    return "does not add up in relation"


def stretch(content, rng):
    _, _, witness, _ = pick(content, rng)
    witness["differences"] = [d * 10**6 for d in witness["differences"]]
    return "leaves the bounds"


def shrink(content, rng):
    sides = [
        u[end]
        for u in content["unsafe"]
        for end, level in (("low", "lower"), ("high", "upper"))
        if u[level] not in {0, "0"}
    ]
    content["witnesses"][rng.choice(sides)]["denominator"] *= 10**9
    return "not low enough|not high enough|not far enough|or is not whole"


def publish_moved_cell(content, rng):
    _, _, witness, place = pick(content, rng)
    content["withheld"].remove(witness["cells"][place])
    return "changes a cell that is published"


def publish_unsafe_cell(content, rng):
    need = rng.choice(content["unsafe"])
    content["withheld"].remove(need["cell"])
    content["witnesses"] = [strip(w, need["cell"]) for w in content["witnesses"]]
    content["relations"] = [
        [
            [c for c in cells if c != need["cell"]],
            [a for c, a in zip(cells, coefs, strict=True) if c != need["cell"]],
        ]
        for cells, coefs in content["relations"]
    ]
    content["values"][need["cell"]] = content["lower"][need["cell"]] = 0
    return "it is published|does not add up"


def strip(witness, cell):
    kept = [(c, d) for c, d in zip(witness["cells"], witness["differences"], strict=True) if c != cell]
    return {**witness, "cells": [c for c, _ in kept], "differences": [d for _, d in kept]}


def another_value(content, rng):
    used = sorted({c for cells, _ in content["relations"] for c in cells})
    content["values"][rng.choice(used)] = 10**7
    return "outside its bounds|does not add up"


def another_coefficient(content, rng):
    _, coefficients = rng.choice(content["relations"])
    coefficients[rng.randrange(len(coefficients))] += rng.choice([-3, 3])
    return "does not add up"


def relation_loses_a_cell(content, rng):
    values = content["values"]
    row = rng.choice([r for r in content["relations"] if any(values[c] not in {0, "0"} for c in r[0])])
    place = rng.choice([i for i, c in enumerate(row[0]) if values[c] not in {0, "0"}])
    del row[0][place], row[1][place]
    return "does not add up"


def require_more(content, rng):
    need = rng.choice(content["unsafe"])
    need[rng.choice(["lower", "upper", "width"])] = 10**9
    return "not low enough|not high enough|not far enough"


def require_less_than_nothing(content, rng):
    rng.choice(content["unsafe"])[rng.choice(["lower", "upper", "width"])] = -1
    return "negative"


def swap_witnesses(content, rng):
    need = rng.choice([u for u in content["unsafe"] if u["low"] != u["high"]])
    need["low"], need["high"] = need["high"], need["low"]
    return "not low enough|not high enough|not far enough"


def point_to_the_truth(content, rng):
    need = rng.choice(content["unsafe"])
    need["low"] = need["high"] = None
    return "not low enough|not high enough|not far enough"


def foreign_witness(content, rng):
    rng.choice(content["unsafe"])["high"] = len(content["witnesses"])
    return "its witnesses: a position does not exist"


def negative_witness(content, rng):
    rng.choice(content["unsafe"])["low"] = -1
    return "its witnesses: a position does not exist"


def drop_the_last_witness(content, rng):
    del content["witnesses"][rng.randrange(len(content["witnesses"])) :]
    return "its witnesses: a position does not exist"


def truth_outside(content, rng):
    cell = rng.randrange(len(content["values"]))
    side, bound = rng.choice([("lower", 10**9), ("upper", -(10**9))])
    content[side][cell] = bound
    return "outside its bounds"


def tighter_bound(content, rng):
    _, _, witness, place = pick(content, rng)
    cell = witness["cells"][place]
    content["lower"][cell] = content["upper"][cell] = content["values"][cell]
    return "leaves the bounds"


def foreign_cell(content, rng):
    _, _, witness, place = pick(content, rng)
    witness["cells"][place] = rng.choice([-1, len(content["values"])])
    return "a position does not exist"


def cell_twice(content, rng):
    _, _, witness, place = pick(content, rng)
    witness["cells"].append(witness["cells"][place])
    witness["differences"].append(0)
    return "a position occurs twice"


def withheld_twice(content, rng):
    content["withheld"].append(rng.choice(content["withheld"]))
    return "withheld cells: a position occurs twice"


def unsafe_twice(content, rng):
    content["unsafe"].append(dict(rng.choice(content["unsafe"])))
    return "unsafe cells: a position occurs twice"


def cell_twice_in_a_relation(content, rng):
    row = rng.choice(content["relations"])
    row[0].append(row[0][0])
    row[1].append(0)
    return "relation .*: a position occurs twice"


def no_denominator(content, rng):
    _, _, witness, _ = pick(content, rng)
    witness["denominator"] = rng.choice([0, -1, True, "1", None])
    return "denominator"


def not_a_number(content, rng):
    _, _, witness, place = pick(content, rng)
    witness["differences"][place] = rng.choice([True, "x", "NaN", "1e3", "1/0", None, "", " 1", "\u0661"])
    return "not an exact number"


def value_not_a_number(content, rng):
    content["values"][rng.randrange(len(content["values"]))] = rng.choice(
        [False, "inf", None, [], "0x1", "1_0"]
    )
    return "not an exact number"


def one_value_less(content, rng):
    del content["values"][rng.randrange(len(content["values"]))]
    return "not one number for each cell"


def one_difference_less(content, rng):
    _, _, witness, _ = pick(content, rng)
    witness["differences"].pop()
    return "not one number for each cell"


def bool_for_a_cell(content, rng):
    _, _, witness, place = pick(content, rng)
    witness["cells"][place] = True
    return "position is not a whole number"


FORGERIES = [
    move_one,
    drop_entry,
    stretch,
    shrink,
    publish_moved_cell,
    publish_unsafe_cell,
    another_value,
    another_coefficient,
    relation_loses_a_cell,
    require_more,
    require_less_than_nothing,
    swap_witnesses,
    point_to_the_truth,
    foreign_witness,
    negative_witness,
    drop_the_last_witness,
    truth_outside,
    tighter_bound,
    foreign_cell,
    cell_twice,
    withheld_twice,
    unsafe_twice,
    cell_twice_in_a_relation,
    no_denominator,
    not_a_number,
    value_not_a_number,
    one_value_less,
    one_difference_less,
    bool_for_a_cell,
]
