from hitoku.tabulation.engines.engine import Engine as Engine
from hitoku.tabulation.engines.engine import count_combinations as count_combinations
from hitoku.tabulation.engines.engine import given_to as given_to
from hitoku.tabulation.engines.engine import open_engine as open_engine
from hitoku.tabulation.engines.engine import opened_once as opened_once
