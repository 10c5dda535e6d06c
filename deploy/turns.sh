# Part of deploy/dev: runs of the tests, and what is said of those that fail. Uses `binaries`, where the test runner is.

# turn LIMIT ARGUMENTS: one run of the test runner; one that hangs is ended and says which tests had not ended. What failed is said at its end
# and added to .run/failures.log.
turn() {
    local limit=$1 log=.run/tests.log status=0
    shift
    timeout --kill-after=20 "$limit" "$binaries/streaksnapPackageTests.xctest" --testing-library swift-testing "$@" 2>&1 |
        tee "$log" || status=$?
    ((status != 0)) || return 0
    # Without colours.
    sed -i 's/\x1b\[[0-9;]*m//g' "$log"
    {
        echo "deploy/dev: failed ($status): ${*:-all}"
        failures "$log"
        if ((status == 124 || status == 137)); then
            echo "deploy/dev: the tests did not end within $limit; not ended:"
            sed -nE 's/^. Test (case.*to )?("[^"]*"|[A-Za-z_]+\(.*\)|`[^`]*`).* (started|passed|failed).*/\3 \2/p' "$log" |
                awk '{ name = $0; sub(/^[a-z]+ /, "", name); if ($1 == "started") open[name]++; else open[name] = 0 }
                    END { for (name in open) if (open[name] > 0) print "  " name }'
        fi
    } | cut -c 1-400 | tee -a .run/failures.log >&2
    return "$status"
}

# failures LOG: which tests failed, with what and where, in at most 60 lines; the last lines of a log that says no such thing, as when the
# runner crashed.
failures() {
    local found
    found=$(awk '
        /^[^ ]+ Test .*recorded an issue/ { rest = 3; print; next }
        /^(↳| +[^ ])/ && rest > 0 { rest--; print "  " $0; next }
        { rest = 0 }
        /^[^ ]+ Suite .* recorded an issue/ || /Fatal error|Crash|fatalError|\*\*\* / { print }
    ' "$1" | head -n 60)
    if [[ -n $found ]]; then echo "$found"; else tail -n 20 "$1"; fi
}

# turns: all tests. One that fails does not keep the following from running, so that one run tells everything.
turns() {
    # In turns: the property tests keep every processor busy, others kill servers or compare times and want the machine for themselves.
    local computing='StreaksDomainTests|TranscodingTests|KernelTests' alone='OutboxTests|BusTests|AuthServiceTests|SoakTests|ChaosTests'
    local status=0
    turn 10m --filter "$computing" || status=1
    # Many of these hold connections to one PostgreSQL.
    turn 10m --skip "$computing|$alone|EndToEndTests" --experimental-maximum-parallelization-width 16 || status=1
    turn 20m --no-parallel --filter "$alone" || status=1
    # Most of these start a system of their own: no more at once than a small machine bears.
    turn 15m --filter EndToEndTests --experimental-maximum-parallelization-width 5 || status=1
    ((status == 0)) || { echo && head -n 90 .run/failures.log; } >&2
    return "$status"
}
