#!/bin/sh
# Packages the charts into a folder: charts/package.sh FOLDER. The same files give the same bytes,
# on any machine and at any time. Needs helm, GNU or busybox touch, and git or SOURCE_DATE_EPOCH.
#
# helm 4.2 writes the times of the files into the archive and knows no SOURCE_DATE_EPOCH, and
# `helm dependency build` writes the time into Chart.lock. So this packages a copy in which every
# file has the time of the last commit, and in which the library is a folder.
#
# In a workflow of GitHub the packages name the repository that runs it as their source.
set -eu

if [ $# -ne 1 ]; then
  echo 'usage: charts/package.sh FOLDER' >&2
  exit 2
fi
charts=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git -C "$charts" log -1 --format=%ct) || {
    echo "charts/package.sh: $charts is not in a git repository; set SOURCE_DATE_EPOCH to seconds since 1970" >&2
    exit 1
  }
fi
# Later versions of helm read it.
export SOURCE_DATE_EPOCH

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$charts/sidegate" "$charts/sidegate-hub" "$charts/sidegate-lib" "$copy"
if [ -n "${GITHUB_REPOSITORY:-}" ]; then
  url="${GITHUB_SERVER_URL:-https://github.com}/$GITHUB_REPOSITORY"
  for chart in sidegate sidegate-hub sidegate-lib; do
    printf 'home: "%s"\nsources: ["%s"]\n' "$url" "$url" >> "$copy/$chart/Chart.yaml"
  done
fi
# What `helm dependency build` may have left.
for chart in sidegate sidegate-hub; do
  rm -rf "$copy/$chart/charts" "$copy/$chart/Chart.lock"
  mkdir "$copy/$chart/charts"
  cp -R "$copy/sidegate-lib" "$copy/$chart/charts/sidegate-lib"
done
find "$copy" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
for chart in sidegate-lib sidegate sidegate-hub; do
  package=$(helm package "$copy/$chart" --destination "$copy" | sed 's/^.*: //')
  # `helm push` writes the time of the package into the manifest.
  touch -d "@$SOURCE_DATE_EPOCH" "$package"
  mv "$package" "$out/"
  echo "$out/$(basename "$package")"
done
