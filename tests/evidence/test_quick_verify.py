"""The verifier in arrays gives the verdict of the verifier in plain Python, whatever the file."""

from __future__ import annotations

import copy
import json
import random

import pytest
from tests.evidence.test_verify import cents, counts, hierarchy
from tests.oracles.forgeries import FORGERIES

from hitoku.evidence import quick_verify as quick
from hitoku.evidence import verify as plain
from hitoku.evidence.audit import audit
from hitoku.model.protection import Protection
from hitoku.model.release import Release


@pytest.fixture(scope="module", params=[counts, cents, hierarchy], ids=lambda make: make.__name__)
def certificate(request):
    table, need, withheld = request.param()
    return audit(table, need, Release.of(table, Protection.withhold(table, withheld, need))).certificate


def in_arrays(content):
    """What the arrays say: the answer, or None where they leave it to the other verifier."""
    try:
        return quick._proved(content)
    except (quick.NotInArrays, plain.Refuted, *plain.MALFORMED):
        return None


def in_plain(content):
    """What plain Python says: the answer, or None where it refuses."""
    try:
        return plain.prove(content)
    except (plain.Refuted, *plain.MALFORMED):
        return None


def sealed(content):
    return {**content, "sha256": plain.fingerprint(content)}


def test_what_holds_is_accepted_in_arrays_alone(certificate, tmp_path, monkeypatch):
    path = certificate.write(tmp_path / "proof.json.gz")
    expected = plain.verify(path)
    monkeypatch.delattr(plain.CertifiedTable, "__init__")  # plain Python cannot help
    assert expected.ok
    assert quick.quick_verify(path) == expected


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_forgeries_are_refused_with_the_same_words(certificate, forge, tmp_path):
    for seed in range(3):
        content = copy.deepcopy(dict(certificate.content))
        forge(content, random.Random(seed))  # noqa: S311 - repeatable choices
        content = sealed(content)
        assert in_arrays(content) is None
        path = tmp_path / "forged.json"
        path.write_text(json.dumps(content), "utf-8")
        assert quick.quick_verify(path) == plain.verify(path)


def leaves(thing, way=()):
    """Every place in a record at which something other than a record or list stands."""
    if isinstance(thing, dict | list):
        for key, part in thing.items() if isinstance(thing, dict) else enumerate(thing):
            yield from leaves(part, (*way, key))
    else:
        yield way


def mutate(content, rng):
    """Change something anywhere, the forger's way or a fool's."""
    way = rng.choice([*leaves(content)])
    if rng.random() < 0.3:
        way = way[: rng.randint(1, len(way))]
    *above, last = way
    place = content
    for key in above:
        place = place[key]
    old = place[last]
    kinds = [None, True, "7", "1/3", "0.5", 0, -1, 10**30, 2**62, [], {}, 1.5, "x"]
    kinds += [old + 1, old - 1, 2 * old, -old, str(old)] * 4 if type(old) is int else []
    place[last] = rng.choice(kinds)


def test_any_change_gets_the_same_verdict(certificate):
    rng = random.Random(3)  # noqa: S311 - repeatable choices
    accepted = 0
    for _ in range(120):
        content = copy.deepcopy(dict(certificate.content))
        for _ in range(rng.choice([1, 1, 2])):
            mutate(content, rng)
        content = sealed(content)
        said, expected = in_arrays(content), in_plain(content)
        # Arrays may leave something to plain Python; what they accept, it accepts in the same words.
        assert said in {None, expected}
        accepted += said is not None
        assert said is not None or not_whole(content) or expected is None
    assert accepted > 0


def not_whole(content):
    """Tell whether arrays may decline: numbers beyond their range, or fractions among coefficients."""
    text = json.dumps(content)
    coefficients = json.dumps(content["relations"])
    large = any(len(word.strip('"[]{}')) > 15 for word in text.replace(":", ",").split(","))
    return large or '"' in coefficients
