"""What Minami and Abe (2019) printed: Tables 2 to 5, by the side of a table without its totals."""

from __future__ import annotations

# Sides of the square tables; the paper speaks of 16, 25, 36 and 49 cells.
SIDES = (4, 5, 6, 7)

# Table 2: unsafe primary cells after the attack, and all primary cells, over 50 tables.
UNSAFE = {4: (48, 104), 5: (117, 170), 6: (190, 230), 7: (226, 271)}

# Table 3: share of unsafe cells by the dimension of the null space.
DIMENSIONS = (1, 2, 3, 4)
BY_DIMENSION: dict[int, dict[int, float]] = {
    4: {1: 0.83, 2: 0.42, 3: 0.17},
    5: {1: 1.00, 2: 0.71, 3: 0.57, 4: 0.83},
    6: {1: 1.00, 2: 0.87, 3: 0.78, 4: 0.82},
    7: {2: 0.81, 3: 0.89, 4: 0.73},
}
BY_DIMENSION_ALL = {1: 0.88, 2: 0.73, 3: 0.75, 4: 0.77}

# Table 4: unsafe cells by the width of their effective interval, 0 to 7.
WIDTHS = {
    4: (6, 6, 7, 20, 1, 0, 4, 4),
    5: (16, 22, 23, 41, 6, 3, 5, 1),
    6: (75, 33, 45, 31, 5, 0, 1, 0),
    7: (92, 33, 28, 57, 4, 4, 5, 3),
}

# Table 5: mean seconds per table; none was printed for the largest.
SECONDS = {4: 1.412, 5: 102.2, 6: 538.9}

# Section 4.1: what the tables are drawn from, how many of them, and the parameters of the suppression.
MEAN, DEVIATION, TABLES = 15, 10, 50
THRESHOLD, WIDTH = 5, 8
