#!/bin/bash
# Asks the public list of vulnerabilities about every package of the lock. Exit 1 if one is listed, 3 if the list could not
# be asked: a package that nobody looked up is not a package without faults.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
answer=$(mktemp) said=$(mktemp)
trap 'rm -f "$answer" "$said"' EXIT
# It says "no known vulnerabilities" of packages that it could not look up, too: we say it ourselves.
.venv/bin/pip-audit --requirement requirements.lock --require-hashes --disable-pip --progress-spinner off \
  --format json --output "$answer" 2>"$said" || { cat "$answer" "$said"; exit 1; }
.venv/bin/python - "$answer" <<'PYTHON'
import json, sys

found = json.load(open(sys.argv[1]))["dependencies"]
skipped = [package["name"] for package in found if "skip_reason" in package]
asked = len(found) - len(skipped)
if asked:
    print(f"audit: {asked} packages looked up, nothing is known against them")
if skipped:
    print(f"audit: nobody has looked at {len(skipped)} packages: the list cannot be reached, or does not know them:", *skipped)
    sys.exit(3)
PYTHON
