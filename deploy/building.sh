# Part of deploy/dev: packages are installed and executables built, and what is done meanwhile is said: in a terminal on one line, elsewhere
# every 10 s. What apt and the compiler write goes to files in .run.

# stage WORDS LOG COMMAND...: runs a command with its output in LOG, and says for how long it has run. Ctrl-C ends it.
stage() {
    local words=$1 log=$2 began=$SECONDS said=$SECONDS status=0 pid
    shift 2
    mkdir -p "$(dirname "$log")"
    "$@" >"$log" 2>&1 </dev/null &
    pid=$!
    # Bash lets what runs in the background ignore Ctrl-C.
    trap 'trap - INT TERM; kill -TERM "$pid" 2>/dev/null; echo >&2; echo "stopping: $words" >&2; wait "$pid"; exit 130' INT TERM
    while kill -0 "$pid" 2>/dev/null; do
        if [[ -t 2 ]]; then
            printf '\r\e[K%.*s' "$((${COLUMNS:-80} - 1))" "$words, $(duration $((SECONDS - began)))" >&2
        elif ((SECONDS - said >= 10)); then
            said=$SECONDS
            echo "$words, $(duration $((SECONDS - began)))" >&2
        fi
        sleep 0.2
    done
    wait "$pid" || status=$?
    trap - INT TERM
    [[ ! -t 2 ]] || printf '\r\e[K' >&2
    if ((status == 0 && SECONDS - began >= 3)); then echo "$words: $(duration $((SECONDS - began)))" >&2; fi
    return "$status"
}

# duration SECONDS: "3 min 12 s".
duration() {
    if (($1 >= 60)); then echo "$(($1 / 60)) min $(($1 % 60)) s"; else echo "$1 s"; fi
}

# setup [PACKAGE ...]: installs what is missing of the packages that everything needs, and of these.
setup() {
    local missing=() package sudo=()
    for package in "${packages[@]}" "$@"; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    if ((${#missing[@]} > 0)); then
        # The password is asked for before anything is shown on one line.
        ((EUID == 0)) || { sudo=(sudo) && sudo -v; }
        stage "installing ${#missing[@]} Debian packages" .run/setup.log install_packages "${missing[@]}" || {
            tail -n 5 .run/setup.log >&2
            fail "the packages could not be installed (${missing[*]}); see .run/setup.log"
        }
    fi
    command -v swift >/dev/null || fail "swift is not installed: see https://swift.org/install (6.2 or newer)"
}

# setup_tests [PACKAGE ...]: the same with what tests need besides. Of Prometheus that is one tool; its package would start a server.
setup_tests() {
    setup "$browser" "$@"
    if [[ ! -x .run/prometheus/usr/bin/promtool ]] && ! command -v promtool >/dev/null; then
        rm -rf .run/prometheus
        mkdir -p .run/prometheus
        (cd .run/prometheus && apt-get download -qq prometheus && dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb) >&2
    fi
}

install_packages() {
    "${sudo[@]}" apt-get update -qq && DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y --no-install-recommends "$@"
}

# newest_zones: brings the newest zone data that Debian or PyPI has, asked once a day, and has what is started go by it. Without a network
# what is there stays. Countries change their clocks within weeks: with older data dates end at the wrong hour there (deploy/README.md).
newest_zones() {
    local mine=$PWD/.run/zoneinfo asked=.run/zoneinfo.asked system own
    if [[ -n ${STREAKSNAP_ZONEINFO_FOLDER:-} ]]; then return; fi
    if [[ -z $(find "$asked" -mtime -1 2>/dev/null) ]]; then
        # Asking for no password: who is not root has PyPI's.
        ((EUID != 0)) || stage "looking for newer zone data (Debian)" .run/zoneinfo.log upgrade_zones || true
        stage "looking for newer zone data (PyPI)" .run/zoneinfo.log deploy/zone-data "$mine" || true
        mkdir -p .run && touch "$asked"
    fi
    system=$(zone_version /usr/share/zoneinfo)
    own=$(zone_version "$mine")
    if [[ $own > $system ]]; then export STREAKSNAP_ZONEINFO_FOLDER=$mine; fi
}

# zone_version FOLDER: 2026f.
zone_version() { sed -n '1s/^# version \([0-9]\{4\}[a-z]*\).*/\1/p' "$1/tzdata.zi" 2>/dev/null || true; }

upgrade_zones() {
    timeout 60 apt-get update -qq && DEBIAN_FRONTEND=noninteractive timeout 60 apt-get install -y -qq --only-upgrade tzdata
}

# build [OPTION | PRODUCT ...]: builds these executables, or what `deploy/build` makes of an option, and says where they are.
build() {
    local product
    mkdir -p .run
    if [[ ${1:-} == -* ]]; then
        build_one "building" "" "$@"
    else
        for product; do build_one "building $product" "$product" --product "$product"; done
    fi
    binaries=$(deploy/build --show-bin-path)
}

# build_one WORDS PRODUCT ARGUMENTS...
build_one() {
    local words=$1 product=$2 status=0
    shift 2
    python3 deploy/build_progress.py .run/build.log "$words" "$product" deploy/build "$@" || status=$?
    ((status != 130)) || exit 130
    if ((status != 0)); then
        grep -aE 'error:' .run/build.log | sort -u | head -20 >&2 || true
        fail "the build failed; see .run/build.log"
    fi
}

# built PRODUCT: sets binaries, and builds the executable when there is none. Installs what is missing before.
built() {
    setup
    binaries=$(deploy/build --show-bin-path)
    [[ -x $binaries/$1 ]] || build "$1"
}
