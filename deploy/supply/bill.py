"""What a release is made of, from requirements.lock: the packages it runs with, and a bill of materials (CycloneDX).

    bill.py requirements        the part of the lock that the program needs to run, with its hashes
    bill.py sbom                the same packages as CycloneDX 1.6, with licences and who needs whom

Run it with the environment's own Python (`.venv/bin/python`): what needs what is read from the installed packages. The
same lock gives the same bytes.
"""

import importlib.metadata
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKED = re.compile(
    r"^(?P<name>[a-z0-9._-]+)==(?P<version>\S+?)(?: ; (?P<marker>.+?))? \\\n(?P<hashes>(?: +--hash=\S+.*\n?)+)",
    re.MULTILINE,
)


def locked() -> dict[str, re.Match[str]]:
    """Every package of the lock that this platform takes."""
    text = (ROOT / "requirements.lock").read_text() + "\n"
    found = {canonicalize_name(entry["name"]): entry for entry in LOCKED.finditer(text)}
    return {name: entry for name, entry in found.items() if not entry["marker"] or Marker(entry["marker"]).evaluate()}


def needs(requirements: list[str], extras: frozenset[str] = frozenset({""})) -> set[tuple[str, frozenset[str]]]:
    """The packages that these requirements name here, and with which extras."""
    found: set[tuple[str, frozenset[str]]] = set()
    for text in requirements:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
            found.add((canonicalize_name(requirement.name), frozenset({"", *requirement.extras})))
    return found


def runtime() -> dict[str, set[str]]:
    """Every package that the program needs to run, and what each needs in turn."""
    graph: dict[str, set[str]] = {}
    waiting = needs(PROJECT["dependencies"])
    done: set[tuple[str, frozenset[str]]] = set()
    while waiting - done:
        name, extras = min(waiting - done, key=lambda item: (item[0], sorted(item[1])))
        done.add((name, extras))
        wanted = needs(importlib.metadata.requires(name) or [], extras)
        graph.setdefault(name, set()).update(package for package, _ in wanted)
        waiting |= wanted
    return graph


def requirements() -> str:
    packages = locked()
    return "".join(packages[name][0].rstrip("\n") + "\n" for name in sorted(runtime()))


def sbom() -> str:
    packages, graph = locked(), runtime()
    root = f"pkg:pypi/{PROJECT['name']}@{PROJECT['version']}"
    refs = {name: f"pkg:pypi/{name}@{packages[name]['version']}" for name in graph}
    direct = {name for name, _ in needs(PROJECT["dependencies"])}
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": PROJECT["name"],
                "version": PROJECT["version"],
                "purl": root,
                "licenses": [{"expression": PROJECT["license"]}],
            }
        },
        "components": [component(name, packages[name], refs[name]) for name in sorted(graph)],
        "dependencies": [
            {"ref": root, "dependsOn": sorted(refs[name] for name in direct)},
            *({"ref": refs[name], "dependsOn": sorted(refs[need] for need in graph[name])} for name in sorted(graph)),
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def component(name: str, entry: re.Match[str], ref: str) -> dict[str, Any]:
    hashes = sorted(set(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry["hashes"])))
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": ref,
        "name": name,
        "version": entry["version"],
        "purl": ref,
        # One for each file that the index offers: the lock accepts any of them.
        "externalReferences": [
            {
                "type": "distribution",
                "url": ref,
                "hashes": [{"alg": "SHA-256", "content": content} for content in hashes],
            }
        ],
    }
    told = importlib.metadata.metadata(name)
    if "License-Expression" in told:
        found["licenses"] = [{"expression": told["License-Expression"]}]
    elif "License" in told and "\n" not in told["License"] and told["License"] != "UNKNOWN":
        found["licenses"] = [{"license": {"name": told["License"]}}]
    return found


if __name__ == "__main__":
    what = {"requirements": requirements, "sbom": sbom}.get(" ".join(sys.argv[1:]))
    if what is None:
        sys.exit(__doc__)
    sys.stdout.write(what())
