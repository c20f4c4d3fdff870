#!/bin/bash
# Makes a release in dist/: the wheel, built twice and found equal, the requirements it runs with, the bill of materials,
# the files of deploy/, and the sums of all. Run in a checkout after `make setup`.
#   release.sh [--wheels] [--to DIRECTORY]     with --wheels also every package itself, for machines that no index reaches
set -euo pipefail
dist=dist wheels=
while [ $# -gt 0 ]; do
  case "$1" in
    --wheels) wheels=yes ;;
    --to) dist=$(readlink -f "$2"); shift ;;
    *) echo "usage: $0 [--wheels] [--to DIRECTORY]" >&2; exit 2 ;;
  esac
  shift
done
cd "$(dirname "$(readlink -f "$0")")/../.."
python=.venv/bin/python
# The time of the last commit stands in the wheel, not that of the build.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

again=$(mktemp -d)
trap 'rm -rf "$again"' EXIT
rm -rf "$dist"
$python -m hatchling build --target wheel --directory "$dist" >/dev/null
(umask 077 && TZ=Asia/Singapore LC_ALL=C PYTHONHASHSEED=1 $python -m hatchling build --target wheel --directory "$again" >/dev/null)
for wheel in "$dist"/*.whl; do
  cmp "$wheel" "$again/$(basename "$wheel")" || { echo "release: two builds differ" >&2; exit 1; }
done
$python deploy/supply/bill.py requirements >"$dist/requirements.txt"
$python deploy/supply/bill.py sbom >"$dist/sbom.cdx.json"
git ls-files -z deploy ':!deploy/pictures' | tar --create --null --files-from=- | tar --extract --directory="$dist"
if [ -n "$wheels" ]; then
  $python -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
    --requirement "$dist/requirements.txt" --dest "$dist/wheels"
fi
cd "$dist"
mapfile -t parts < <(find . -type f -printf '%P\n' | LC_ALL=C sort)
sha256sum "${parts[@]}" >SHA256SUMS
echo "release: $(wc -l <SHA256SUMS) files in $dist; sign its SHA256SUMS (deploy/README.md)"
