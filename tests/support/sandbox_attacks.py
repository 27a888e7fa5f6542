HOOK = "echo evil > .git/hooks/pre-commit"


FSMONITOR = "git config core.fsmonitor ./evil"


REPLACE = "mv .git .git2 && git init -q && git config core.fsmonitor y"


COMMON_DIR = (
    "mkdir -p evil/objects evil/refs && cp .git/HEAD .git/config evil/ && git config -f evil/config core.fsmonitor evil && "
    "echo ../evil > .git/commondir && git config core.fsmonitor"
)
