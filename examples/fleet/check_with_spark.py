"""Checks many stored jobs with Spark and counts the findings of each rule.

    spark-submit check_with_spark.py FOLDER-OR-ADDRESS [RESULT-FOLDER]

Every machine of the Spark cluster needs pai-lsp in its Python, for example by `--archives` with a packed environment.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def findings(jobs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, int, str, str, str]]:
    """The errors and warnings in (address, text) of jobs, as (address, line, severity, code, message)."""
    import pai_lsp  # noqa: PLC0415 - here, so that it is loaded on the machine that checks, once for many jobs

    for address, text in jobs:
        for one in pai_lsp.check(text):
            yield address, one.start.line, one.severity, one.code, one.message


def main() -> None:
    """Check the jobs that the arguments name."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - the tests call `findings` without Spark

    spark = SparkSession.builder.appName("pai-lsp").getOrCreate()
    jobs = spark.sparkContext.wholeTextFiles(sys.argv[1], minPartitions=8)
    columns = ["job", "line", "severity", "code", "message"]
    found = spark.createDataFrame(jobs.mapPartitions(findings), columns).cache()
    found.groupBy("code", "severity").count().orderBy("count", ascending=False).show(50, truncate=False)
    if len(sys.argv) > 2:
        found.write.json(sys.argv[2])
    spark.stop()


if __name__ == "__main__":
    main()
