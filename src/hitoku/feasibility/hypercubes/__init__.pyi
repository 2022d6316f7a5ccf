from hitoku.feasibility.hypercubes.cross_table import EnclosingTable as EnclosingTable
from hitoku.feasibility.hypercubes.cross_table import cross_table_of as cross_table_of
from hitoku.feasibility.hypercubes.hypercube_search import LARGE as LARGE
from hitoku.feasibility.hypercubes.hypercube_search import HypercubeSearch as HypercubeSearch
from hitoku.feasibility.hypercubes.packs import pack_witnesses as pack_witnesses
from hitoku.feasibility.hypercubes.requirements import Requirements as Requirements
from hitoku.feasibility.hypercubes.requirements import Slacks as Slacks
