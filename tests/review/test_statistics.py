"""Numbers for the head of the team, counted by hand."""

from __future__ import annotations

import sqlalchemy as sa

from hitoku.review import JUDGEMENT, reading, team_numbers


def test_statistics_match_requests(centre):
    first, second = centre.submit(), centre.submit(title="Another")
    broken = centre.outputs(first)[0]
    with centre.context.engine.begin() as connection:
        connection.execute(
            sa.text("""UPDATE output SET status = 'fail', principles = '{"units": "fail", "group": "review"}'
                    WHERE id = :id"""),
            {"id": broken},
        )
    for login in ("yui", "sota"):
        centre.vote(first, login, ["change", "approve", "approve"])
        centre.vote(second, login, ["approve", "approve", "approve"])
    centre.browser("yui").post(f"/requests/{first}/return")
    centre.browser("yui").post(f"/requests/{second}/settle")
    haru = centre.browser("haru")
    for place in centre.outputs(second):
        haru.post(f"/outputs/{place}/decision", data={"choice": "refuse", "reason": "not for this paper"})
    haru.post(f"/requests/{second}/finish")
    assert (centre.state(first), centre.state(second)) == ("returned", "rejected")
    with reading(centre.context.engine) as connection:
        found = team_numbers(connection, turnaround_days=5)
    # Two reviewers sent one output back; a person refused three that met everything.
    assert found.causes == {
        JUDGEMENT: {"refused": 3},
        "group": {"review": 1, "refused": 1},
        "units": {"fail": 1, "refused": 1},
    }
    assert (found.closed, found.in_time, found.median_days) == (1, 1, 0)
    assert found.states["returned"] == found.states["rejected"] == 1
    assert found.load == [("Sota Mori", 2, 0, 0), ("Yui Tanaka", 2, 0, 0)]
    assert "rejected or returned" in haru.get("/statistics").text
