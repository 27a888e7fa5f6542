"""Facts about paths: where they really lead, what is protected, what is secret."""

import os
import re
import unicodedata
from pathlib import Path

PROTECTED_FOLDERS = frozenset(
    {".git", ".agent-tui", ".agents", ".claude", ".vscode", ".idea", ".cursor", ".zed", ".devcontainer"}
)
_PROTECTED_NAMES = """
.mcp.json .envrc .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile
.zlogin .zlogout .kshrc .cshrc .tcshrc .login .inputrc .gitconfig .gitmodules .ripgreprc .npmrc .yarnrc .yarnrc.yml
.pypirc .netrc .vimrc .tmux.conf .xprofile .xinitrc .xsessionrc .pam_environment config.fish authorized_keys
known_hosts crontab sudoers
"""
PROTECTED_FILES = frozenset(_PROTECTED_NAMES.split())
_HOME_FOLDERS = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".kube",
    ".docker",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".password-store",
)
_OPEN_ENV = frozenset({".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults"})
_SECRET_NAME = re.compile(
    r"""\.env(\..+)?|.+\.env|\.envrc|.+\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk)|id_(rsa|dsa|ecdsa|ed25519)(_.+)?|credentials(\.(json|ya?ml|toml|ini|csv))?
    |\.netrc|_netrc|\.npmrc|\.pypirc|auth\.json|\.git-credentials|\.pgpass|\.my\.cnf|\.htpasswd|\.dockercfg|secrets?\.(json|ya?ml|toml|env|ini)
    |service[-_]account.*\.json|client_secret.*\.json|kubeconfig|shadow|gshadow|master\.key|\.vault[-_]?(pass|password|token).*""",
    re.VERBOSE,
)


def real_path(path: str | Path) -> str:
    """Give where `path` leads: links followed, also a dangling last one; what is missing is kept as it is."""
    return os.path.realpath(path)


def is_inside(path: str, root: str) -> bool:
    """Tell whether `path` is `root` or below it, by whole components. Both must be absolute and normal."""
    return path == root or path.startswith(root if root.endswith("/") else f"{root}/")


def folded(text: str) -> str:
    """Give the spelling under which names are compared with protected ones: NFKC, without case."""
    return unicodedata.normalize("NFKC", text).casefold()


def is_secret(path: str) -> bool:
    """Tell whether a file of this name usually holds keys or passwords."""
    parts = folded(path).split("/")
    if parts[-1] in _OPEN_ENV:
        return False
    return bool(_SECRET_NAME.fullmatch(parts[-1])) or _in_home_secret(parts)


def _in_home_secret(parts: list[str]) -> bool:
    joined = f"/{'/'.join(parts)}/"
    return any(f"/{folder}/" in joined for folder in _HOME_FOLDERS)


def protected_by(path: str) -> str:
    """Say which protected name makes a write to `path` something no rule may allow; "" when none does."""
    parts = [part for part in folded(path).split("/") if part]
    for part in parts:
        if part in PROTECTED_FOLDERS:
            return part
    last = parts[-1] if parts else ""
    if last in PROTECTED_FILES or is_secret(path):
        return last
    system = ("/etc/cron", "/etc/systemd", "/etc/profile", "/etc/sudoers", "/var/spool/cron")
    if (
        folded(path).startswith(system)
        or "/.config/autostart/" in folded(path)
        or "/systemd/user/" in folded(path)
    ):
        return last
    return ""


def volume_ignores_case(folder: Path) -> bool:
    """Tell whether `folder` lies on a volume where `a` and `A` are one file."""
    for part in (folder, *folder.parents):
        swapped = part.name.swapcase()
        if swapped == part.name:
            continue
        try:
            return part.with_name(swapped).samefile(part)
        except OSError:
            return False
    return False


def same_file(left: str, right: str) -> bool:
    """Tell whether two paths name one existing file (or directory)."""
    try:
        return os.path.samefile(left, right)
    except OSError:
        return False
