"""What Lupp and Langsrud (2021) printed: Tables 1 and 2, Figure 1, and the cells named in section 2."""

from __future__ import annotations

GROUPS = (
    "Oslo Car Driver",
    "Oslo Car Passenger",
    "Bergen Car Driver",
    "Bergen Car Passenger",
    "Trondheim Bicycle Driver",
)
INJURIES = ("None", "Light", "Serious", "Unknown")

# Table 1: injuries by group, and its printed totals.
TABLE_1 = ((0, 0, 17, 0), (0, 3, 8, 0), (1, 0, 12, 0), (0, 1, 0, 14), (3, 2, 2, 0))
TOTALS = (17, 11, 13, 15, 7)

# Section 2.2: directly disclosive cells in the variable injury, as group, injury, frequency.
DISCLOSIVE: dict[int, tuple[tuple[str, str, int], ...]] = {
    0: (("Oslo Car Driver", "Serious", 17),),
    3: (
        ("Oslo Car Driver", "Serious", 17),
        ("Oslo Car Passenger", "Serious", 8),
        ("Bergen Car Driver", "Serious", 12),
        ("Bergen Car Passenger", "Unknown", 14),
    ),
}

# Section 2.3: a row whose region is an unknown that says nothing.
UNKNOWN_REGION = (1, 0, 7, 0)

# Table 2: k = 3, an unknown injury says nothing; p primary, s secondary, the last column is the total.
TABLE_2 = ("s.p..", ".sp..", "s.p..", ".....", ".....")

# Figure 1: drivers in Oslo and Bergen; x withheld; and for each table the groups disclosed for k = 1.
FIGURE_1_GROUPS = ("Oslo Car Driver", "Bergen Car Driver")
FIGURE_1: dict[str, tuple[tuple[str, str], tuple[str, ...]]] = {
    "first table": ((".....", "....."), FIGURE_1_GROUPS),
    "second table": (("..x.x", "xx..."), FIGURE_1_GROUPS),
    "third table": ((".xx..", "x.x.."), ()),
}
