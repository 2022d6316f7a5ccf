"""The review application: where output checkers work, in a browser, inside an enclave without internet.

Requests go through states with transitions and permissions; every change is an entry in an append-only log
from which all other tables of the database can be rebuilt. The server authenticates, authorises, checks the
form token and calls a handler of ``pages``; what takes long (checks, releases) is a job that a worker does in
a process of its own. ``hitoku serve`` starts it. Other packages do not import it; tests use what is offered
here.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
