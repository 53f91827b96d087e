# shellcheck shell=bash
# The fabric as a machine on it discovers it, a line `WORD TEXT` for each line that the tools print: `link` of
# ibnetdiscover(8), `manager` of sminfo(8), `down` of ibqueryerrors(8), and `why` with a tool that said nothing whole, and what it said instead.
# All only read: no counter is cleared.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# whole STATUS END: the tool read everything: its status is 0, or it printed the line that begins with END.
whole() {
    if [ -n "$2" ]; then grep -q "^$2" "$work/said"; else [ "$1" -eq 0 ]; fi
}

# told WORD TOOL [END]: the tool's lines, if it read everything. A busy fabric drops questions, so it is asked three times.
told() {
    local word=$1 tool=$2 end=${3-} status=0 last try
    if ! command -v "$tool" >/dev/null; then
        printf 'why %s is not installed\n' "$tool"
        return
    fi
    for try in 1 2 3; do
        status=0
        timeout 240 "$tool" >"$work/said" 2>"$work/why" || status=$?
        if whole "$status" "$end"; then
            sed "s/^/$word /" "$work/said"
            return
        fi
        # One that hung does so again.
        if [ "$status" -eq 124 ] || [ "$try" -eq 3 ]; then break; fi
        sleep 1
    done
    last=$(grep -v '^$' "$work/why" | tail -n 1)
    printf 'why %s: %s\n' "$tool" "${last:-ended with status $status before its report was whole}"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
told link ibnetdiscover
told manager sminfo
# Its status is how many ports have errors.
told down ibqueryerrors '## Summary:'
printf 'end\n'
