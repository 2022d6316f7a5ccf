from hitoku.checks.session.output_methods import OutputMethods as OutputMethods
from hitoku.checks.session.pandas_api import PandasApi as PandasApi
from hitoku.checks.session.session import Session as Session
