# shellcheck shell=bash
# The fabric as a machine on it discovers it, a line `WORD TEXT` for each line that the tools print: `link` of
# ibnetdiscover(8), `manager` of sminfo(8), `down` of ibqueryerrors(8), and `why` with a tool that said nothing whole, and what it said instead.
# All only read: no counter is cleared.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# told WORD TOOL GOOD...: the tool's lines, if it ends with a status that means it read everything.
told() {
    local word=$1 tool=$2 status=0
    if ! command -v "$tool" >/dev/null; then
        printf 'why %s is not installed\n' "$tool"
        return
    fi
    timeout 240 "$tool" >"$work/said" 2>"$work/why" || status=$?
    shift 2
    case " $* " in
    *" $status "* | *" any "*) sed "s/^/$word /" "$work/said" ;;
    *) printf 'why %s: %s\n' "$tool" "$(grep -v '^$' "$work/why" | tail -n 1)" ;;
    esac
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
told link ibnetdiscover 0
told manager sminfo 0
# Its status is how many ports have errors.
told down ibqueryerrors any
printf 'end\n'
