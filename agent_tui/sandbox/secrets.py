"""Places whose content no command may read: keys and credentials of the home folder and of the system."""

from collections.abc import Iterator
from pathlib import Path

FOLDERS = (
    ".ssh", ".aws", ".gnupg", ".azure", ".kube", ".docker", ".oci", ".password-store", ".mozilla", ".thunderbird",
    ".config/gcloud", ".config/gh", ".config/hub", ".config/rclone", ".config/doctl", ".config/op",
    ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
    ".local/share/keyrings", "Library/Keychains",
)  # fmt: skip
FILES = (
    ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".config/git/credentials", ".pgpass", ".my.cnf", ".s3cfg",
    ".boto", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".vault-token", ".terraformrc",
    ".terraform.d/credentials.tfrc.json", ".config/pip/pip.conf", ".pip/pip.conf", ".htpasswd",
    ".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".local/share/opencode/auth.json",
    ".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history", ".node_repl_history",
)  # fmt: skip
# Root inside a sandbox is still the owner of these, so their mode does not protect them.
SYSTEM = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/krb5.keytab",
)  # fmt: skip
SYSTEM_FOLDERS = ("/etc/ssl/private", "/etc/sudoers.d", "/etc/NetworkManager/system-connections")
# Start-up files that a grant of the whole home folder must not hand over with it.
START_UP = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".zlogout", ".cshrc", ".tcshrc", ".kshrc", ".login", ".inputrc", ".vimrc", ".exrc",
    ".gitconfig", ".config/git/config", ".config/fish/config.fish", ".tmux.conf", ".xprofile", ".gdbinit", ".pdbrc",
)  # fmt: skip


def secret_folders(home: Path) -> Iterator[Path]:
    """Give the folders that exist and are to be hidden, as real paths."""
    for path in (*(home / name for name in FOLDERS), *map(Path, SYSTEM_FOLDERS)):
        if path.is_dir():
            yield path.resolve()


def secret_files(home: Path) -> Iterator[Path]:
    """Give the files that exist and are to be hidden, as real paths."""
    ssh = Path("/etc/ssh")
    keys = sorted(ssh.glob("ssh_host_*_key")) if ssh.is_dir() else []
    for path in (*(home / name for name in FILES), *map(Path, SYSTEM), *keys):
        if path.is_file():
            yield path.resolve()
