"""Review application for output checkers, run in a browser inside a secure environment.

Requests have states, transitions and permissions. Every change is an entry of an append-only log from which
all other tables of the database can be rebuilt. The server authenticates the user, checks permission and form
token, and calls a handler of ``pages``. Long tasks (checks, releases) are jobs that a worker runs in a
separate process. ``hitoku serve`` starts the application. Other packages do not import this one, except for
tests.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
