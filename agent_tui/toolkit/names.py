"""File names that hold secrets, and places whose change changes what runs."""

import fnmatch
import re
import unicodedata
from collections.abc import Iterable
from pathlib import PurePath

SECRET_NAMES = tuple(
    """
    .env .env.* .env-* .env_* *.env .envrc *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk
    credentials credentials.json credentials.yaml credentials.yml credentials.toml credentials.ini credentials.csv
    credentials.db application_default_credentials.json auth.json .netrc _netrc .npmrc .yarnrc.yml .pypirc .pgpass .my.cnf
    .htpasswd .git-credentials .dockercfg secret.json secret.yaml secret.yml secret.toml secret.ini secrets.json
    secrets.yaml secrets.yml secrets.toml secrets.ini service-account*.json service_account*.json client_secret*.json
    kubeconfig gshadow .vault-token .vault_token .vault?pass* .vaultpass*
    """.split()  # noqa: SIM905 - one a line would be a page
)
_SECRET_NAME = re.compile("|".join(map(fnmatch.translate, SECRET_NAMES)))
_PRIVATE_KEY = re.compile(r"id_(rsa|dsa|ecdsa|ed25519|xmss)([_-][^.]+)?")
SECRET_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".azure", ".kube", ".docker", ".password-store"})
SECRET_PATHS = (
    ("etc", "shadow"),
    ("etc", "shadow-"),
    ("etc", "gshadow"),
    ("etc", "sudoers"),
    (".config", "gcloud"),
    (".config", "gh"),
)
_SECRET_PATHS_BEGIN = frozenset(names[0] for names in SECRET_PATHS)
OPEN_NAMES = (".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults")

PROTECTED_FOLDERS = frozenset(
    """.git .agent-tui .agents .claude .vscode .idea .zed .cursor .fleet .devcontainer .husky""".split()  # noqa: SIM905 - as above
)
PROTECTED_NAMES = frozenset(
    """
    .mcp.json .envrc .gitmodules .gitconfig .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc
    .zshenv .zprofile .zlogin .zlogout .cshrc .tcshrc .login .kshrc config.fish .inputrc .xinitrc .xprofile .xsessionrc
    .pam_environment .vimrc .exrc .tmux.conf .pythonrc .pdbrc .gdbinit .lldbinit .ripgreprc .npmrc .yarnrc .yarnrc.yml
    .pypirc .netrc authorized_keys known_hosts crontab sudoers
    """.split()  # noqa: SIM905 - as above
)


def folded(name: str) -> str:
    """Give `name` as a file system that ignores case and Unicode form would compare it."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFKC", name).casefold()


def is_secret(path: PurePath) -> bool:
    """Tell whether the path names a place where keys, tokens or passwords are kept."""
    return are_secret(path.parts)


def are_secret(names: Iterable[str]) -> bool:
    """Do what `is_secret` does for the parts of a path; 60,000 of them are looked at in half a second."""
    parts = tuple(map(folded, names))
    if not parts:
        return False
    name = parts[-1]
    if name in OPEN_NAMES:
        return False
    if _SECRET_NAME.match(name) or _PRIVATE_KEY.fullmatch(name) or not SECRET_FOLDERS.isdisjoint(parts):
        return True
    if _SECRET_PATHS_BEGIN.isdisjoint(parts):
        return False
    return any(_contains(parts, secret) for secret in SECRET_PATHS)


def is_protected(path: PurePath) -> bool:
    """Tell whether a change there could make something run or loosen a rule: asked for each time, whatever the rules."""
    parts = tuple(folded(part) for part in path.parts)
    if any(part in PROTECTED_FOLDERS for part in parts):
        return True
    return bool(parts) and parts[-1] in PROTECTED_NAMES


def _contains(parts: tuple[str, ...], run: tuple[str, ...]) -> bool:
    """Tell whether `run` stands in `parts` as neighbours."""
    return any(parts[i : i + len(run)] == run for i in range(len(parts) - len(run) + 1))
