"""A session of Spark, and files that it reads."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
from typing import Any

from hitoku.errors import DataError, ParameterError
from hitoku.messages import Text

ADDRESS = re.compile(r"(local(\[[\d*, ]+\]|-cluster\[.+\])?|yarn|(spark|sc|k8s)://.+)$")
PORTS = {"spark": 7077, "sc": 15002}  # default ports
SECONDS = 10


def session_at(address: str | None = None) -> Any:
    """Return a session of Spark.

    Parameters
    ----------
    address
        A master (``spark://host:7077``, ``local[2]``, ``yarn``), or Spark Connect (``sc://host:15002``).
        Default: the existing session, or the one configured on this machine.
    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - optional dependency
    except ImportError:
        raise ParameterError(
            "spark_missing", "Spark is not installed here", where="engine", fix="install hitoku[spark]"
        ) from None
    _refuse_address(address)
    try:
        builder = SparkSession.builder
        if address is None:
            return SparkSession.getActiveSession() or _run_this_python(builder.getOrCreate())
        if address.startswith("sc://"):
            return builder.remote(address).getOrCreate()
        return _run_this_python(builder.master(address).appName("hitoku").getOrCreate())
    except Exception as error:
        raise ParameterError(
            "spark_session_failed",
            "no session of Spark could be opened ({kind})",
            where=Text("spark {address!r}", address=address) if address else "engine",
            fix="check the address, that the cluster runs, and that Java is installed (not needed for sc://)",
            kind=type(error).__name__,
        ) from error


def _run_this_python(session: Any) -> Any:
    """Let workers on this machine run the current Python, not the first on the path; return the session."""
    context = getattr(session, "sparkContext", None)
    if context is not None and context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
    return session


def _refuse_address(address: str | None) -> None:
    """Raise for addresses that Spark would try for minutes, or answer with pages of messages."""
    where = f"spark {address!r}" if address else "engine"
    if address is not None and not ADDRESS.match(address):
        raise ParameterError(
            "spark_address_invalid",
            "no master of Spark, nor Spark Connect, has such an address",
            where=where,
            fix="write spark://host:7077, sc://host:15002, yarn, k8s://..., or local[4] for this machine",
        )
    scheme, _, hosts = (address or "").partition("://")
    here = os.environ.get("JAVA_HOME") or shutil.which("java")
    if scheme != "sc" and not here:
        raise ParameterError(
            "java_missing",
            "Java is not installed here",
            where=where,
            fix="install Java 17, or use Spark Connect (sc://host:15002), which needs none here",
        )
    if scheme in PORTS and not any(_answers(host, PORTS[scheme]) for host in hosts.split(",")):
        raise ParameterError(
            "no_answer_at_address",
            "cannot connect to {address!r}",
            where=where,
            fix="check host and port, and that the cluster runs",
            address=address,
        )


def _answers(host: str, port: int) -> bool:
    """Return whether a server listens at host:port, or host:port/;options as for Spark Connect."""
    name, _, number = host.partition("/")[0].rpartition(":")
    try:
        with socket.create_connection((name, int(number)) if name else (number, port), timeout=SECONDS):
            return True
    except (OSError, ValueError):
        return False


def read_parquet(session: Any, path: str) -> Any:
    """Read Parquet files in Spark, from any path that the cluster can reach."""
    session = session or session_at()
    try:
        return session.read.parquet(path)
    except Exception as error:
        raise DataError(
            "spark_cannot_read",
            "Spark could not read {file!r} ({kind})",
            where="data",
            fix="check the path as the cluster sees it, for example on shared storage",
            file=path.rstrip("/").rpartition("/")[2],
            kind=type(error).__name__,
        ) from error
