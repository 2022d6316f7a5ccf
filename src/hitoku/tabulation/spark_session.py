"""A session of Spark, and files that it reads."""

from __future__ import annotations

import os
import sys
from typing import Any

from hitoku.errors import DataError, ParameterError


def session_at(address: str | None = None) -> Any:
    """Return a session of Spark.

    Parameters
    ----------
    address
        A master (``spark://host:7077``, ``local[2]``, ``yarn``), or Spark Connect (``sc://host:15002``).
        Left out, the session that there is, or the one that the settings of this machine lead to.
    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - only for those who have it
    except ImportError:
        raise ParameterError(
            "Spark is not installed here", where="engine", fix="install hitoku[spark]"
        ) from None
    try:
        builder = SparkSession.builder
        if address is None:
            return SparkSession.getActiveSession() or builder.getOrCreate()
        if address.startswith("sc://"):
            return builder.remote(address).getOrCreate()
        if address.startswith("local"):
            # On this machine executors run the Python that runs now, not whichever comes first on the path.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        return builder.master(address).appName("hitoku").getOrCreate()
    except Exception as error:
        raise ParameterError(
            f"no session of Spark could be opened ({type(error).__name__})",
            where=f"spark {address!r}" if address else "engine",
            fix="check the address, that the cluster runs, and that Java is installed (not needed for sc://)",
        ) from error


def read_parquet(session: Any, path: str) -> Any:
    """Let Spark read Parquet files, from any place that the cluster can reach."""
    session = session or session_at()
    try:
        return session.read.parquet(path)
    except Exception as error:
        raise DataError(
            f"Spark could not read {path.rstrip('/').rpartition('/')[2]!r} ({type(error).__name__})",
            where="data",
            fix="check the path as the cluster sees it, for example on shared storage",
        ) from error
