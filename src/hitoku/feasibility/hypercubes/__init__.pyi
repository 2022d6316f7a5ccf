from hitoku.feasibility.hypercubes.claims import Claims as Claims
from hitoku.feasibility.hypercubes.claims import Rooms as Rooms
from hitoku.feasibility.hypercubes.cover import Cover as Cover
from hitoku.feasibility.hypercubes.cover import cover_of as cover_of
from hitoku.feasibility.hypercubes.hypercube_search import LARGE as LARGE
from hitoku.feasibility.hypercubes.hypercube_search import Boxes as Boxes
from hitoku.feasibility.hypercubes.packs import packed as packed
