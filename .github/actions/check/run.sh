#!/usr/bin/env bash
# Runs a file of this checkout by Node: `run.sh src/main.ts check rules`. The first run installs the
# packages that the program uses. Needs Bash 3.2, and Node and npm on PATH; on a runner of GitHub it
# also finds a newer Node among the installed tools. Only the file writes to standard output.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd -P)

node=
for found in "$(command -v node || true)" "${RUNNER_TOOL_CACHE:-/nowhere}"/node/*/*/bin/node; do
  # This script says nothing to a Node that is new enough.
  if [ -x "$found" ] && [ -z "$(npm_lifecycle_event='' "$found" "$root/.require-node.cjs" 2>&1)" ]; then
    node=$found
    break
  fi
done
if [ -z "$node" ]; then
  needed=$(sed -n 's/.*"node": ">=\([0-9.]*\)".*/\1/p' "$root/package.json")
  echo "Sidegate needs Node $needed or later on PATH; install it, or run actions/setup-node before this step." >&2
  exit 2
fi
# npm writes this file last. No script of a package runs.
if [ ! -e "$root/node_modules/.package-lock.json" ]; then
  (cd "$root" && PATH="$(dirname "$node"):$PATH" npm ci --omit=dev --ignore-scripts --no-audit --no-fund >&2)
fi
file=$1
shift
exec "$node" "$root/$file" "$@"
