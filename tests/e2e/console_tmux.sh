#!/usr/bin/env bash
# The console in tmux, a terminal of somebody else's: `tests/e2e/console_tmux.sh` starts it, resizes the window to 40x10 and to
# 200x50, goes through inbox and palette, suspends it, and quits. What tmux shows is compared. A line for each check.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/outside.sh

command -v tmux >/dev/null || skip "there is no tmux"
need_mcpkg

scratch=$(mktemp -d)
tm() { tmux -L "mcpkg-e2e-$$" -f /dev/null "$@"; }
trap 'tm kill-server 2>/dev/null || true; rm -rf "$scratch"' EXIT
export HOME="$scratch" XDG_STATE_HOME="$scratch/state" MCPKG_DB="$scratch/test.db" TZ=UTC SHELL=/bin/sh
unset TMUX MCPKG_PROJECT NO_COLOR
shell() { "$mcpkg" --quiet "$@" >/dev/null; }
shell project create e2e
shell project select e2e
shell prompt create review 'Look for missing tests.' --description 'Reviews a change'
# A draft waits in the inbox.
cat >"$scratch/app.yaml" <<'YAML'
workflow: app
steps:
  - id: a
    run: mcpkg:prompt:lst
YAML
shell draft add "$scratch/app.yaml" 2>/dev/null

failed=0
check() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then echo "ok $what"; else
        echo "FAILED $what:"
        tm capture-pane -p | sed 's/^/    /'
        failed=$((failed + 1))
    fi
}

# shown TEXT: waits until the pane shows it.
shown() {
    for _ in $(seq 100); do
        if tm capture-pane -p | grep -qF -- "$1"; then return 0; fi
        sleep 0.1
    done
    return 1
}

# same: compares the pane with the standard input. Of equal rows that follow each other, one is kept.
same() {
    local wanted now
    wanted=$(cat)
    for _ in $(seq 50); do
        now=$(tm capture-pane -p | sed 's/ *$//' | uniq)
        if [ "$now" = "$wanted" ]; then return 0; fi
        sleep 0.1
    done
    diff <(echo "$wanted") <(echo "$now") | sed 's/^/    /'
    return 1
}

keys() { tm send-keys "$@"; }

tm new-session -d -x 80 -y 24 'PS1="ready> " sh -i'
check 'a shell waits' shown 'ready>'
keys "'$mcpkg' console --ascii" Enter
check 'the inbox is the first screen' shown '1 INBOX 1'
check 'the inbox at 40x10' eval 'tm resize-window -x 40 -y 10; same' <<'SCREEN'
 Inbox: 1 waits for you
> DRAFT  shell
    app, new: 1 error

 enter look  e edit  a approve   ? keys
SCREEN
tm resize-window -x 39 -y 10
check 'a window that is too small says so' shown 'mcpkg needs 40x10; this is 39x10.'
check 'the inbox at 200x50' eval 'tm resize-window -x 200 -y 50; same' <<'SCREEN'
 mcpkg e2e  1 INBOX 1  2 Feed  3 Content  4 Deploy  5 Workflows  6 All
 Inbox: 1 waits for you
  KIND   FROM   WHAT               UNTIL                               | shell proposes app  open
> DRAFT  shell  app, new: 1 error                                      |
                                                                       | E 4:10 there is no command `mcpkg:prompt:lst`  fix: mcpkg:prompt:list
                                                                       |
                                                                       | | workflow: app
                                                                       | | steps:
                                                                       | |   - id: a
                                                                       | |     run: mcpkg:prompt:lst
                                                                       |
                                                                       | Steps
                                                                       | a  mcpkg:prompt:lst
                                                                       |

 enter look  e edit  a approve  d reject  t what changes                                                                                                                    / filter  ? keys  : palette
SCREEN
tm resize-window -x 80 -y 24
keys : 'prompt sh'
check 'the palette finds a command' shown '> prompt show'
keys Enter
check 'and opens its form' shown 'mcpkg prompt show'
keys Escape
keys 3
check 'the content shows a prompt and its text' shown 'Look for missing tests.'
keys C-z
check 'Ctrl-Z gives the terminal back' shown 'ready>'
keys fg Enter
check 'and fg brings the screen back' shown '3 CONTENT'
keys q
check 'q leaves' shown 'ready>'
keys 'echo "it ended with $?"' Enter
check 'without an error' shown 'it ended with 0'
check 'nothing of the screen stays' eval '! tm capture-pane -p | grep -qF "3 CONTENT"'
[ "$failed" -eq 0 ]
