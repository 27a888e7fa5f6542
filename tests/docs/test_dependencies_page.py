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


def installed() -> dict[str, str]:
    """Every package that a plain installation brings, with its licence."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    waiting, found = [Requirement(text).name for text in wanted], dict[str, str]()
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        package = metadata.distribution(name)
        found[name] = licence(package.metadata)
        for text in package.requires or []:
            need = Requirement(text)
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                waiting.append(need.name)
    return found


def test_every_package_of_a_plain_installation_is_listed_with_its_licence() -> None:
    here = {name: "BSD-3-Clause" if text == "BSD" else text for name, text in installed().items()}

    missing = {name: text for name, text in here.items() if LISTED.get(name) != text}
    assert not missing, f"docs/dependencies.md lacks or misstates {missing}"
    assert len(here) <= 60


@pytest.mark.parametrize("name", sorted(LISTED))
def test_every_licence_is_permissive(name: str) -> None:
    assert all(part in PERMISSIVE for part in LISTED[name].split(" OR "))
