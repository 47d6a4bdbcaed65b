#!/usr/bin/env bash
# The recipe for Spark in docs/fleet.md, in local mode: it finds what `pai-lsp check` finds.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/apt_packages.sh "the recipe for Spark" java=default-jre-headless || exit
make -s --no-print-directory .venvs/spark/.ready \
  || exec scripts/not_run.sh "the recipe for Spark: its packages cannot be installed; is there a network?"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/jobs"
cp examples/*.pai.yaml "$folder/jobs"
export PATH="$PWD/.venvs/spark/bin:$PATH" PYSPARK_PYTHON="$PWD/.venvs/spark/bin/python" SPARK_LOCAL_IP=127.0.0.1
export JAVA_TOOL_OPTIONS=-XX:TieredStopAtLevel=1  # what runs for seconds is not worth the second compiler
timeout 300 spark-submit --master 'local[2]' examples/fleet/check_with_spark.py "$folder/jobs" "$folder/found" \
  >"$folder/table" 2>"$folder/log" || { cat "$folder/log" >&2; exit 1; }
cat "$folder/table"
python - "$folder" <<'PYTHON'
import json
import pathlib
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
rows = [json.loads(line) for part in folder.glob("found/*.json") for line in part.read_text().splitlines()]
by_spark = sorted((row["job"].rsplit("/", 1)[1], row["line"], row["code"]) for row in rows)
command = ["pai-lsp", "check", "--isolated", "--format", "ndjson", "--severity", "warning", folder / "jobs"]
checked = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
rows = [json.loads(line) for line in checked]
by_command = sorted((pathlib.Path(row["path"]).name, row["start"]["line"], row["code"]) for row in rows)
assert by_spark and by_spark == by_command, (by_spark, by_command)
print(f"{len(by_spark)} findings, as by pai-lsp check")
PYTHON
