# Part of deploy/dev: runs of the tests, how long each test took, and what is said of those that fail. Uses `binaries`, where the test runner
# is. deploy/docs/testing.md explains the turns and the two depths.

# turn NAME LIMIT WIDTH ARGUMENTS: one run of the test runner, with so many tests at once (0: the arguments say how many); one that hangs is
# ended and says which tests had not ended. What failed is said at its end and added to .run/failures.log.
turn() {
    local name=$1 limit=$2 width=$3 log=.run/tests-$1.log status=0 began=$EPOCHREALTIME parallel=()
    shift 3
    if ((width > 1)); then parallel=(--experimental-maximum-parallelization-width "$width"); fi
    if ((width == 1)); then parallel=(--no-parallel); fi
    timeout --kill-after=20 "$limit" "$binaries/streaksnapPackageTests.xctest" --testing-library swift-testing \
        --event-stream-version 6.3 --event-stream-output-path ".run/events-$name.jsonl" "${parallel[@]}" "$@" 2>&1 | tee "$log" || status=$?
    echo "$name $began $EPOCHREALTIME $width" >>.run/turns
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

# turns: all tests. One that fails does not keep the following from running, so that one run shows everything.
turns() {
    # Property tests and what reads all sources keep every processor busy, some for half a minute: nothing beside them has a time limit.
    local computing='DomainTests|TranscodingTests|KernelTests|TidyTests'
    # They kill and freeze brokers, databases and services, or ask for more at once than time limits bear on a busy machine: one after the
    # other. They wait more than they compute.
    local faults='OutboxTests|BusTests|AuthServiceTests|SoakTests|ChaosTests|RollTests|StreamTests'
    # Suites of this name compare times and want the machine for themselves.
    local timing='TimingTests'
    # Each of these starts a system of its own, …
    local own='Alert|BareDebian|BlobCheck|BlockWalk|Bucket|CheckInShape|CheckInYear|ClientJourney|ClientYear|ClockKill|ForeignService|HabitJourney'
    own+='|HabitYear|LargeVideo|Linkage|Log|LostDisk|Manifest|MoneyCrash|Month|Observation|PlaceDay|Plan|PowerUpCrash|ProviderAway'
    own+='|OwnService|PurchaseCrash|PushCrash|PushJourney|RateLimit|Reminder|Restore|Revocation|Scaling|TestEnvironment|Up|Upgrade|Visitor'
    # … these share systems whose clock moves or whose processes are killed, and the others share one that stays as it is. A shared system
    # runs until its turn ends, and also one that idles costs some of a processor.
    local moved='Clock|Recover|Restart|Reveal|Termination'
    # What users copy: ExampleTimingTests run them as users do.
    local examples='ExampleAppTests'
    local status=0 beside
    turn computing "$(limit 10 30)" 4 --filter "$computing" || status=1
    # Many of these hold connections to one PostgreSQL.
    turn services "$(limit 15 40)" 16 --skip "$computing|$faults|$timing|$examples|EndToEndTests" || status=1
    turn faults "$(limit 40 60)" 1 --filter "$faults" --skip "$timing" >.run/beside.log 2>&1 &
    beside=$!
    # Most of these start a system of their own: no more at once than a small machine bears.
    turn end-to-end-own "$(limit 30 60)" 3 --filter "EndToEndTests\.($own)Tests/" || status=1
    turn end-to-end-moved "$(limit 30 60)" 3 --filter "EndToEndTests\.($moved)Tests/" || status=1
    turn end-to-end "$(limit 40 60)" 3 --filter EndToEndTests --skip "$timing|EndToEndTests\.($own|$moved)Tests/" || status=1
    wait "$beside" || status=1
    cat .run/beside.log
    turn timing "$(limit 10 10)" 1 --filter "$timing" || status=1
    ((status == 0)) || { echo && head -n 90 .run/failures.log; } >&2
    return "$status"
}

# limit QUICK FULL: how many minutes a turn may take at this depth. A quick run ends by itself within 88 minutes of its start, the build
# included: whoever ends it from outside after 90 does not learn which test hung.
limit() {
    local left=$((88 * 60 - SECONDS))
    if [[ $STREAKSNAP_TEST_DEPTH == full ]]; then
        echo "$2"m
    elif ((left > $1 * 60)); then
        echo "$1"m
    else
        echo $((left > 60 ? left : 60))s
    fi
}

# memory_left: how many GiB of files /dev/shm can take; 0 where it is not in memory.
memory_left() {
    {
        df --output=avail --type=tmpfs /dev/shm 2>/dev/null || echo 0
        sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo
    } | awk '/^[0-9 ]+$/ { least = !seen++ || $1 < least ? $1 : least } END { print int(least / 1048576) }'
}

# run_tests [--build-only] [--depth quick|full] [ARGUMENTS]
run_tests() {
    local status=0 depth=quick further=()
    while [[ ${1:-} == --depth || ${1:-} == --depth=* ]]; do
        if [[ $1 == --depth ]]; then depth=${2:-} && shift $(($# > 1 ? 2 : 1)); else depth=${1#*=} && shift; fi
        [[ $depth == quick || $depth == full ]] || refuse "--depth must be quick or full, not “$depth”"
    done
    # A bare Debian is made of it.
    if [[ $depth == full ]]; then further+=(debootstrap iproute2); fi
    setup_tests "${further[@]}"
    mkdir -p .run
    # Tests start `deploy/dev up`, which would bring it while others ask which version Debian's package has.
    (newest_zones)
    echo "checking the format" >&2
    find . \( -path ./.build -o -path ./.run -o -path '*/Generated' \) -prune -o -name '*.swift' -print0 |
        xargs -0r swift format lint --strict --parallel
    build --build-tests
    if [[ ${1:-} == --build-only ]]; then return; fi
    # The tests that start programs start those that were just built.
    export STREAKSNAP_BIN=$binaries STREAKSNAP_TEST_DEPTH=$depth
    # Hundreds of databases with a thousand files each come and go. In memory that costs least; ext4 also searches ever longer for inodes
    # that were not in use a moment ago.
    if [[ -z ${TMPDIR:-} ]] && (($(memory_left) >= 10)); then export TMPDIR=/dev/shm; fi
    rm -f .run/failures.log .run/turns .run/events-*.jsonl .run/tests-*.log
    if (($# > 0)); then turn chosen 20m 0 "$@" || status=$?; else turns || status=$?; fi
    deploy/test_times.py .run || true
    return "$status"
}
