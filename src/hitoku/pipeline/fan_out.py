"""Backends for independent tasks: this process, others on this machine, or a cluster, given by one word.

======================== ==========================================================
``4``, ``-1``            so many processes of this machine; all processors
``loky:4``               the same
``dask``                 Dask: the client that there is, or processes of this machine
``dask:tcp://host:8786`` Dask: the scheduler at this address
``spark``                Spark: the session that there is, or that settings lead to
``spark:local[2]``       Spark: this master
======================== ==========================================================
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module, metadata
from typing import Any

from hitoku.errors import HitokuError, ParameterError, TableError
from hitoku.tabulation import session_at

Jobs = int | str | None
BACKENDS = ("loky", "dask", "spark")
WHOLE = re.compile("-?[0-9]{1,6}")


def fan_out(tasks: Sequence[Callable[[], Any]], jobs: Jobs = None) -> Iterator[Any]:
    """Run tasks in parallel, and yield their results in order; results do not depend on the backend.

    Parameters
    ----------
    tasks
        Functions to run; they and their results must be picklable.
    jobs
        Backend; see above. None: use ``joblib.parallel_config``.

    Examples
    --------
    >>> from functools import partial
    >>> list(fan_out([partial(abs, -1), partial(abs, 2)], 1))
    [1, 2]
    """
    backend, given = parse_jobs(jobs)
    from joblib import Parallel, delayed  # noqa: PLC0415 - most recipes have one group

    work = [delayed(_run)(task, metadata.version("hitoku")) for task in tasks]
    if backend == "loky":
        yield from Parallel(n_jobs=given, return_as="generator")(work)
        return
    with _sent_to(backend, str(given)):
        # Not every backend returns results one by one.
        yield from Parallel(n_jobs=-1)(work)


def parse_jobs(jobs: Jobs) -> tuple[str, int | str | None]:
    """Split the word into the backend and a number of processes or an address.

    Examples
    --------
    >>> parse_jobs(4), parse_jobs("dask:tcp://host:8786"), parse_jobs("spark")
    (('loky', 4), ('dask', 'tcp://host:8786'), ('spark', ''))
    """
    if jobs is None or (isinstance(jobs, int) and not isinstance(jobs, bool)):
        backend, given = "loky", "" if jobs is None else str(jobs)
    else:
        backend, _, given = str(jobs).partition(":")
        if WHOLE.fullmatch(backend) and not given:
            backend, given = "loky", backend
    if backend not in BACKENDS or (backend == "loky" and given and not WHOLE.fullmatch(given)):
        raise ParameterError(
            "jobs_unknown", "jobs is {jobs!r}, which names no place to work", where="jobs", fix=FIX, jobs=jobs
        )
    if backend != "loky":
        return backend, given
    if given == "0":
        raise ParameterError("jobs_zero", "jobs must not be 0", where="jobs", fix=FIX)
    return backend, int(given) if given else None if jobs is None else -1


FIX = 'write a number of processes (-1: all processors), or "dask:tcp://host:8786", "spark:spark://host:7077"'


def _run(task: Callable[[], Any], version: str) -> Any:
    """Run a task on a worker; raise if its version of hitoku differs."""
    found = metadata.version("hitoku")
    if found != version:
        raise TableError(
            "worker_version_differs",
            "a worker has hitoku {found}, here it is {own}",
            where="jobs",
            fix="install the same version of hitoku where the work is done",
            found=found,
            own=version,
        )
    return task()


@contextmanager
def _sent_to(backend: str, address: str) -> Iterator[None]:
    """Direct joblib to a cluster."""
    from joblib import parallel_config  # noqa: PLC0415 - see above

    with _client(backend, address):
        try:
            with warnings.catch_warnings():
                # joblibspark warns about unsupported features that are not used.
                warnings.simplefilter("ignore")
                with parallel_config(backend=backend):
                    yield
        except HitokuError:
            raise
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in {"py4j", "pyspark", "distributed"}:
                raise
            raise TableError(
                "work_lost",
                "work sent to {backend} came to nothing ({kind})",
                where="jobs",
                fix="install hitoku {version} where the work is done, and look at the messages of {backend}",
                backend=backend,
                kind=type(error).__name__,
                version=metadata.version("hitoku"),
            ) from error


@contextmanager
def _client(backend: str, address: str) -> Iterator[None]:
    if backend == "spark":
        register = _import_package("joblibspark", "spark").register_spark
        session_at(address or None)
        register()
        yield
        return
    distributed = _import_package("distributed", "dask")
    try:
        opened = distributed.Client(address, timeout=30) if address else _own_client(distributed)
    except OSError as error:
        raise ParameterError(
            "no_answer_at_address",
            "cannot connect to {address!r}",
            where="jobs",
            fix="check the address of the scheduler",
            address=address,
        ) from error
    try:
        yield
    finally:
        if opened is not None:
            opened.close()


def _own_client(distributed: Any) -> Any:
    """Open a client with processes of this machine; None if the caller has one, which stays open."""
    try:
        distributed.default_client()
    except ValueError:  # no client exists
        return distributed.Client(dashboard_address=None)
    return None


def _import_package(package: str, extra: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise ParameterError(
            "package_missing",
            "{package} is not installed here",
            where="jobs",
            fix="install hitoku[{extra}]",
            package=package,
            extra=extra,
        ) from None
