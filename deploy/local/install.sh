#!/bin/sh
# Installs what private servers and tests need:
# install.sh [postgresql] [redis] [chromium] [haproxy] [prometheus] [shellcheck] [systemd]
#
# Says nothing and changes nothing where it is all there. Otherwise it installs
# the distribution's packages, as root and with apt-get, and leaves none of
# their own servers running and no cluster of theirs behind.
set -eu

min_postgres=15

# postgres_at DIR: PostgreSQL of a supported version is there, with the
# extensions that the schema uses.
postgres_at() {
    [ -x "$1/postgres" ] && [ -x "$1/initdb" ] || return 1
    version=$("$1/postgres" --version 2>/dev/null | sed -n 's/.*(PostgreSQL) \([0-9]*\).*/\1/p')
    [ "${version:-0}" -ge "$min_postgres" ] || return 1
    share=$("$1/pg_config" --sharedir 2>/dev/null) || share=
    for dir in "$share" "/usr/share/postgresql/$version" "$1/../share/postgresql" "$1/../share"; do
        if [ -f "$dir/extension/pg_trgm.control" ] && [ -f "$dir/extension/btree_gin.control" ]; then
            return 0
        fi
    done
    return 1
}

have_postgres() {
    if on_path=$(command -v postgres) && postgres_at "$(dirname "$(readlink -f "$on_path")")"; then
        return 0
    fi
    for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin; do
        if postgres_at "$dir"; then
            return 0
        fi
    done
    return 1
}

have_redis() {
    command -v redis-server >/dev/null
}

have_chromium() {
    command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null
}

# Debian keeps it where only an administrator's PATH looks.
have_haproxy() {
    command -v haproxy >/dev/null || [ -x /usr/sbin/haproxy ]
}

# Of Prometheus only the program is wanted that tests rules.
have_prometheus() {
    command -v promtool >/dev/null
}

# Of systemd only the program is wanted that checks units.
have_systemd() {
    command -v systemd-analyze >/dev/null
}

need_postgres=no
need_redis=no
need_chromium=no
need_haproxy=no
need_prometheus=no
need_shellcheck=no
need_systemd=no
for name in "$@"; do
    case $name in
    postgresql) have_postgres || need_postgres=yes ;;
    redis) have_redis || need_redis=yes ;;
    chromium) have_chromium || need_chromium=yes ;;
    haproxy) have_haproxy || need_haproxy=yes ;;
    prometheus) have_prometheus || need_prometheus=yes ;;
    shellcheck) command -v shellcheck >/dev/null || need_shellcheck=yes ;;
    systemd) have_systemd || need_systemd=yes ;;
    *)
        echo "install.sh: unknown name $name: it knows postgresql, redis, chromium, haproxy, prometheus, shellcheck and systemd" >&2
        exit 2
        ;;
    esac
done

packages=
[ $need_postgres = no ] || packages="postgresql postgresql-contrib"
[ $need_redis = no ] || packages="$packages redis-server"
[ $need_chromium = no ] || packages="$packages chromium"
[ $need_haproxy = no ] || packages="$packages haproxy"
[ $need_prometheus = no ] || packages="$packages prometheus"
[ $need_shellcheck = no ] || packages="$packages shellcheck"
[ $need_systemd = no ] || packages="$packages systemd"
[ -n "$packages" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    missing="PostgreSQL $min_postgres or later with contrib"
    [ $need_postgres = yes ] || missing=
    [ $need_redis = no ] || missing="${missing:+$missing and }Redis"
    or=", or give the addresses of your own servers in DATABASE_URL and REDIS_URL"
    [ -n "$missing" ] || or=
    [ $need_chromium = no ] || missing="${missing:+$missing and }Chromium (or Google Chrome) on the PATH"
    [ $need_haproxy = no ] || missing="${missing:+$missing and }HAProxy"
    [ $need_prometheus = no ] || missing="${missing:+$missing and }promtool of Prometheus"
    [ $need_shellcheck = no ] || missing="${missing:+$missing and }ShellCheck"
    [ $need_systemd = no ] || missing="${missing:+$missing and }systemd-analyze of systemd"
    how="install it with your system's packages (Homebrew: postgresql@17, redis)"
    if command -v apt-get >/dev/null; then
        # shellcheck disable=SC2086,SC2116 # to leave single blanks
        how="install it as root with: apt-get install --no-install-recommends $(echo $packages)"
    fi
    echo "Storeroom needs $missing: $how$or." >&2
    exit 1
fi

# While packages are installed, policy-rc.d forbids their servers to start, and
# createcluster.conf forbids a first cluster. Both are put back as they were.
policy=/usr/sbin/policy-rc.d
cluster=/etc/postgresql-common/createcluster.conf

restore() {
    if [ -e "$policy.before-storeroom" ]; then
        mv -f "$policy.before-storeroom" "$policy"
    elif [ -e "$policy" ] && grep -q '^# storeroom' "$policy"; then
        rm -f "$policy"
    fi
    if [ -e "$cluster.before-storeroom" ]; then
        mv -f "$cluster.before-storeroom" "$cluster"
    fi
}
restore # what an install that was killed left
log=$(mktemp)
trap 'restore; rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

[ ! -e "$policy" ] || mv "$policy" "$policy.before-storeroom"
printf '#!/bin/sh\n# storeroom: no server starts while it installs packages\nexit 101\n' >"$policy"
chmod 755 "$policy"

export DEBIAN_FRONTEND=noninteractive
# quiet_apt ARGUMENT...: apt-get, heard only where it fails.
quiet_apt() {
    if ! apt-get -qq -o DPkg::Lock::Timeout=120 "$@" </dev/null >"$log" 2>&1; then
        cat "$log" >&2
        echo "install.sh: apt-get $* failed: see above" >&2
        exit 1
    fi
}

# shellcheck disable=SC2086,SC2116 # to leave single blanks
echo "Installing $(echo $packages) ..."
quiet_apt update
if [ $need_postgres = yes ]; then
    quiet_apt install -y --no-install-recommends postgresql-common
    cp -p "$cluster" "$cluster.before-storeroom"
    sed -i 's/^#* *create_main_cluster.*/create_main_cluster = false/' "$cluster"
fi
# shellcheck disable=SC2086 # one word a package
quiet_apt install -y --no-install-recommends $packages

# Packages also enable their servers for the next start of the machine.
if [ -d /run/systemd/system ]; then
    [ $need_redis = no ] || systemctl --quiet disable redis-server
    [ $need_haproxy = no ] || systemctl --quiet disable haproxy
    [ $need_prometheus = no ] || systemctl --quiet disable prometheus
fi

if { [ $need_postgres = yes ] && ! have_postgres; } || { [ $need_redis = yes ] && ! have_redis; }; then
    echo "install.sh: the packages of this system are too old: Storeroom needs PostgreSQL $min_postgres or later with contrib, and Redis." >&2
    exit 1
fi
if [ $need_chromium = yes ] && ! have_chromium; then
    echo "install.sh: the package chromium of this system brings no program of that name: Storeroom's tests need Chromium or Google Chrome on the PATH." >&2
    exit 1
fi
