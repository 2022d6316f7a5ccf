"""What Kikuchi and Minami (2017) printed: Table 1, the principles, the output types, Appendix E."""

from __future__ import annotations

# Table 1: individuals of area A by age, twice; and what the text says of ages 19 to 20.
TABLE_1 = {
    ("0-18", "19-25", "26-30"): (18, 19, 20),
    ("0-20", "21-25", "26-30"): (19, 18, 20),
}
SINGLED_OUT = "age=19-20: 1"

# Section 3: the types of output that can be approved, with our names for them.
OUTPUTS = {
    "frequency table": "frequency_table",
    "magnitude table": "magnitude_table",
    "regression coefficients": "regression",
    "percentile": "percentile",
    "mode": "mode",
    "concentration ratio": "concentration",
    "average and sum": "average",
    "summary and test statistics": "summary",
}
# Section 3: least width of an interval, counts ("10 elements") and as a share of a magnitude.
COUNT_WIDTH, SHARE_WIDTH = 10, 0.30

# Appendix C.
UNITS = 10  # "at least 10 units (unweighted)"
FREEDOM = 11  # "must be greater than 11"
DOMINANCE = 50  # "more than a threshold ratio", 50 %, the (1, 50) rule
GROUP = 90  # "no cell can contain more than 90%"

# Appendix E: Tables 2 to 5 (magnitudes, frequencies, largest and second largest contributor).
TABLE_2 = ((40, 50, 90), (20, 30, 50), (60, 80, 280))
TABLE_3 = ((10, 10, 20), (10, 10, 20), (20, 20, 40))
TABLE_4 = ((10, 12, 12), (8, 7, 8), (10, 12, 12))
TABLE_5 = ((5, 8, 10), (5, 7, 7), (8, 8, 10))
TABLE_6 = """
A, a, 10, 40, 10, 5, s
A, b, 10, 50, 12, 8, s
A, TOTAL, 20, 90, 12, 10, s
B, a, 10, 20, 8, 5, s
B, b, 10, 30, 7, 7, s
B, TOTAL, 20, 50, 8, 7, s
TOTAL, a, 20, 90, 10, 8, s
TOTAL, b, 20, 80, 12, 8, s
TOTAL, TOTAL, 40, 280, 12, 10, s
""".lstrip()
TABLE_7 = """
<SEPARATOR> ", "
<SAFE> "S"
<UNSAFE> "U"
<PROTECT> "P"
Vname
  <RECODEABLE>
  <TOTCODE> "TOTAL"
Class "x"
  <RECODEABLE>
  <TOTCODE> "TOTAL"
N
  <FREQUENCY>
VAR
  <NUMERIC>
TOP1
  <MAXSCORE>
TOP2
  <MAXSCORE>
StatusVar
  <STATUS>
""".lstrip()
