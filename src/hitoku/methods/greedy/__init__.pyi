from hitoku.methods.greedy.greedy import STOPPED as STOPPED
from hitoku.methods.greedy.greedy import Greedy as Greedy
from hitoku.methods.greedy.greedy import unreachable as unreachable
from hitoku.methods.greedy.incremental_audit import IncrementalAudit as IncrementalAudit
from hitoku.methods.greedy.incremental_audit import unnecessary as unnecessary
