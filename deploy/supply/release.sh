#!/bin/bash
# Makes a release in dist/: the wheel, built twice and found equal, the requirements it runs with, the bill of materials,
# and the sums of all. Run in a checkout after `make setup`.
#   release.sh [--wheels]     with --wheels also every package itself, for machines that no index reaches
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
python=.venv/bin/python
# The time of the last commit stands in the wheel, not that of the build.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

again=$(mktemp -d)
trap 'rm -rf "$again"' EXIT
rm -rf dist
$python -m hatchling build --target wheel --directory dist >/dev/null
(umask 077 && TZ=Asia/Singapore LC_ALL=C PYTHONHASHSEED=1 $python -m hatchling build --target wheel --directory "$again" >/dev/null)
for wheel in dist/*.whl; do
  cmp "$wheel" "$again/$(basename "$wheel")" || { echo "release: two builds differ" >&2; exit 1; }
done
$python deploy/supply/bill.py requirements >dist/requirements.txt
$python deploy/supply/bill.py sbom >dist/sbom.cdx.json
if [ "${1:-}" = --wheels ]; then
  $python -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
    --requirement dist/requirements.txt --dest dist/wheels
fi
cd dist
mapfile -t parts < <(find . -type f -printf '%P\n' | LC_ALL=C sort)
sha256sum "${parts[@]}" | tee SHA256SUMS
