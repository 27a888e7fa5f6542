import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/dependencies.md").read_text()
LISTED = {
    name: licence
    for name, licence in re.findall(r"^\| ([\w.-]+) \| ([^|]+) \|", PAGE, re.MULTILINE)
    if name != "package"
}
PERMISSIVE = ("MIT", "MIT-0", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "PSF-2.0", "MPL-2.0")
CLASSIFIERS = {
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def licence(found: metadata.PackageMetadata) -> str:
    said = found.get("License-Expression", "")
    classes = [line.split(" :: ")[-1] for line in found.get_all("Classifier") or [] if "License ::" in line]
    return said or (CLASSIFIERS.get(classes[0], classes[0]) if classes else str(found.get("License", "")))


def installed() -> dict[str, metadata.Distribution]:
    """Every package that a plain installation brings, also by the extras that one package asks of another."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    waiting = [Requirement(text) for text in wanted]
    found, seen = dict[str, metadata.Distribution](), set[tuple[str, str]]()
    while waiting:
        wanted_one = waiting.pop()
        name = re.sub(r"[-_.]+", "-", wanted_one.name).lower()
        found[name] = metadata.distribution(name)
        for extra in {"", *wanted_one.extras}:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            needs = [Requirement(text) for text in found[name].requires or []]
            waiting += [
                need for need in needs if need.marker is None or need.marker.evaluate({"extra": extra})
            ]
    return found


def test_every_package_of_a_plain_installation_is_listed_with_its_licence() -> None:
    said = {name: licence(package.metadata) for name, package in installed().items()}
    here = {name: "BSD-3-Clause" if text == "BSD" else text for name, text in said.items()}

    missing = {name: text for name, text in here.items() if LISTED.get(name) != text}
    assert not missing, f"docs/dependencies.md lacks or misstates {missing}"
    assert f" {len(here)} packages," in PAGE


def test_a_plain_installation_has_at_most_60_packages_and_150_mib() -> None:
    packages = installed()
    files = [Path(str(file.locate())) for one in packages.values() for file in one.files or []]

    assert len(packages) <= 60
    assert sum(file.stat().st_size for file in files if file.is_file()) <= 150 * 2**20


@pytest.mark.parametrize("name", sorted(LISTED))
def test_every_licence_is_permissive(name: str) -> None:
    assert all(part in PERMISSIVE for part in LISTED[name].split(" OR "))
