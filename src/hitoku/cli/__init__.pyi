from collections.abc import Callable, Sequence

from hitoku.cli.commands import add_commands as add_commands
from hitoku.cli.commands import app as app
from hitoku.cli.summary import counts as counts
from hitoku.cli.summary import show as show
from hitoku.cli.terminal import BAD_INPUT as BAD_INPUT
from hitoku.cli.terminal import FOUND as FOUND
from hitoku.cli.terminal import OUR_BUG as OUR_BUG
from hitoku.cli.terminal import lines as lines
from hitoku.cli.terminal import progress as progress
from hitoku.cli.terminal import write_in_any_encoding as write_in_any_encoding
from hitoku.cli.warm_up import circulate_a_little as circulate_a_little
from hitoku.cli.warm_up import jobs as jobs
from hitoku.cli.warm_up import look_inside_a_little as look_inside_a_little

COLLECT_AFTER: int
OPTIMISE: str

def main(args: Sequence[str] | None = None) -> None: ...
def guarded(command: Callable[[], object]) -> int: ...
