"""Makes of a release the next one: the same program under another version, so that an upgrade can be rehearsed.

next_release.py FROM TO VERSION
"""

import hashlib
import shutil
import sys
import zipfile
from pathlib import Path


def make(source: Path, target: Path, version: str) -> None:
    shutil.copytree(source, target)
    (wheel,) = target.glob("jackpot-*.whl")
    _, old, *rest = wheel.name.split("-")
    with (
        zipfile.ZipFile(wheel) as before,
        zipfile.ZipFile(target / "-".join(("jackpot", version, *rest)), "w") as after,
    ):
        for name in before.namelist():
            content = before.read(name)
            if ".dist-info/" in name:
                content = content.replace(f"Version: {old}".encode(), f"Version: {version}".encode())
                content = content.replace(f"jackpot-{old}.".encode(), f"jackpot-{version}.".encode())
            after.writestr(name.replace(f"jackpot-{old}.", f"jackpot-{version}."), content)
    wheel.unlink()
    sums = target / "SHA256SUMS"
    sums.unlink()
    files = sorted(str(path.relative_to(target)) for path in target.rglob("*") if path.is_file())
    lines = [f"{hashlib.sha256((target / file).read_bytes()).hexdigest()}  {file}\n" for file in files]
    sums.write_text("".join(lines))


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
