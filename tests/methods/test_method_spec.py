from __future__ import annotations

import pytest

from hitoku.errors import ParameterError
from hitoku.methods import METHODS, method_from_spec
from hitoku.methods.gauss import Gauss
from hitoku.methods.greedy import Greedy
from hitoku.methods.optimal import Optimal


@pytest.mark.parametrize(
    ("spec", "kind", "parameters"),
    [
        ("greedy", Greedy, {"cost": "value", "tidy": False}),
        ("greedy:tidy=true,prefer=closing", Greedy, {"tidy": True, "prefer": "closing"}),
        (
            " optimal: cost=value, keep=margins, time_limit_s=60 ",
            Optimal,
            {"cost": "value", "keep": "margins", "time_limit_s": 60},
        ),
        (
            "optimal:gap=0.05,work_limit=100,power=none",
            Optimal,
            {"gap": 0.05, "work_limit": 100, "power": None},
        ),
        ("gauss:width=9.5,singletons=anySum", Gauss, {"width": 9.5, "singletons": "any_sums"}),
        ("gauss:width=true,moves=2", Gauss, {"width": True, "moves": 2}),
    ],
)
def test_valid_spec_makes_method(spec, kind, parameters):
    method = method_from_spec(spec, METHODS)
    assert isinstance(method, kind)
    assert {name: getattr(method, name) for name in parameters} == parameters


@pytest.mark.parametrize(
    ("spec", "what", "fix"),
    [
        pytest.param("optimum", "no method 'optimum'", "'optimal'", id="method"),
        pytest.param("optimal:costs=unit", "no parameter 'costs'", "'cost'", id="parameter"),
        pytest.param("greedy:zz=1", "no parameter 'zz'", "cost, keep, start, tidy", id="nothing like it"),
        pytest.param("optimal:cost=vlaue", "cost of method optimal", "'value'? allowed: unit", id="misspelt"),
        pytest.param("optimal:cost=7", "cannot be 7", "allowed: unit, value, frequency", id="no such choice"),
        pytest.param("optimal:keep=all", "keep of method optimal", "allowed: margins, none", id="keep"),
        pytest.param("greedy:prefer=closeing", "prefer of method greedy", "'closing'", id="literal"),
        pytest.param("greedy:tidy=1", "cannot be 1", "true or false", id="one is not true"),
        pytest.param("optimal:work_limit=true", "a whole number", "1, 2", id="true is not one"),
        pytest.param("optimal:work_limit=2.5", "a whole number", "1, 2", id="decimals"),
        pytest.param("optimal:time_limit_s=soon", "'soon'", "leave it out", id="number"),
        pytest.param(
            "optimal:time_limit_s=-1",
            "must be a positive number",
            "leave it out",
            id="the method's own check",
        ),
        pytest.param("optimal:withhold=a+b", "withhold", "allowed: none", id="a mask"),
        pytest.param("gauss:attack=group", "attack", "only be given in Python", id="an object"),
        pytest.param("randomised:rules=zero", "rules", "allowed: none", id="a list of objects"),
        pytest.param("greedy:tidy", "not a parameter with its value", "greedy:", id="no value"),
    ],
)
def test_invalid_spec_raises(spec, what, fix):
    with pytest.raises(ParameterError) as caught:
        method_from_spec(spec, METHODS)
    assert what in str(caught.value)
    assert fix in caught.value.fix
    assert spec in caught.value.where
