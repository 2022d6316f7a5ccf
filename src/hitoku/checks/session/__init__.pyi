from hitoku.checks.session.asking import Asking as Asking
from hitoku.checks.session.pandas_habits import PandasHabits as PandasHabits
from hitoku.checks.session.session import Session as Session
