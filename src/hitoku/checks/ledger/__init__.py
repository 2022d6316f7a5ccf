"""Everything released about a data set, and what a new output would give away together with it."""

from hitoku.checks.ledger.alarm import Alarm, Concern
from hitoku.checks.ledger.book import Ledger
from hitoku.checks.ledger.magnitude import Measure
from hitoku.checks.ledger.receipt import Receipt, receipts
from hitoku.checks.ledger.regression import implied_tables
from hitoku.checks.ledger.settings import Settings, init, settings
from hitoku.checks.ledger.units import unit_numbers

__all__ = [
    "Alarm",
    "Concern",
    "Ledger",
    "Measure",
    "Receipt",
    "Settings",
    "implied_tables",
    "init",
    "receipts",
    "settings",
    "unit_numbers",
]
