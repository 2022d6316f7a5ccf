"""The papers behind hitoku, computed again; ``hitoku reproduce`` runs them.

Frame: ``resumable`` computes many small things in parallel and can be interrupted, ``page`` puts published
and own numbers side by side, ``reproduction`` is one line of such a comparison.
"""

from __future__ import annotations

# By the word for the command line: what is reproduced.
EXPERIMENTS: dict[str, str] = {
    "castro-2012": "Castro (2012), On assessing the disclosure risk of controlled adjustment methods for "
    "statistical tabular data",
    "kikuchi-minami-2017": "Kikuchi and Minami (2017), On-site service and safe output checking in Japan",
    "lupp-langsrud-2021": "Lupp and Langsrud (2021), Suppression of directly disclosive cells in frequency "
    "tables",
    "minami-abe-2019": "Minami and Abe (2019), Algorithmic matching attacks on optimally suppressed tabular "
    "data",
}

__all__ = ["EXPERIMENTS"]
