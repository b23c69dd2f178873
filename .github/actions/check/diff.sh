#!/usr/bin/env bash
# Compares the rules of a commit with those in the working directory:
# `diff.sh [--format FORMAT] [--config FILE] COMMIT RULES`. Other options are those of
# `sidegate diff`. Prints nothing where there is no difference, and where COMMIT does not exist, as
# before the first commit. Exits 0 with or without differences, 2 if it could not compare.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)

if [ $# -lt 2 ]; then echo 'give COMMIT and RULES' >&2; exit 2; fi
options=$(($# - 2))
commit=${*:$#-1:1}
rules=${*:$#:1}
set -- "${@:1:$options}"
case /$rules/ in
  //* | */../*) echo "$rules is not a path inside the working directory; name one without \`..\`" >&2; exit 2 ;;
esac
git rev-parse --quiet --verify "$commit^{commit}" > /dev/null || exit 0

old=$(mktemp -d)
trap 'rm -rf "$old"' EXIT
if git cat-file -e "$commit:./$rules" 2> /dev/null; then
  git archive "$commit" -- "$rules" | tar -x -C "$old"
else
  mkdir -p "$old/$rules"
  echo 'rules: []' > "$old/$rules/none.yaml"
fi
if [ -d "$rules" ]; then set -- --tests "$rules" "$@"; fi
status=0
"$here/run.sh" src/main.ts diff "$@" -- "$old/$rules" "$rules" > "$old/.difference" || status=$?
case $status in
  0) ;;
  1) cat "$old/.difference" ;;
  *) exit 2 ;;
esac
