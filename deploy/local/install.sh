#!/bin/sh
# Installs packages for private servers and tests:
# install.sh [postgresql] [redis] [chromium] [haproxy] [nginx] [caddy] [pgbouncer] [prometheus] [shellcheck] [systemd] [npm]
#
# Prints and changes nothing if everything is installed. Otherwise it installs the
# distribution's packages, as root with apt-get, and prevents them from starting servers or
# creating a database cluster.
set -eu

min_postgres=15

# postgres_at DIR succeeds if DIR contains a supported PostgreSQL with the extensions that
# the schema uses.
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

# Debian installs it in a directory that is only in root's PATH.
have_haproxy() {
    command -v haproxy >/dev/null || [ -x /usr/sbin/haproxy ]
}

# Debian installs it in a directory that is only in root's PATH.
have_nginx() {
    command -v nginx >/dev/null || [ -x /usr/sbin/nginx ]
}

# Debian installs it in a directory that is only in root's PATH.
have_pgbouncer() {
    command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ]
}

# Only promtool is needed of Prometheus.
have_prometheus() {
    command -v promtool >/dev/null
}

# Only systemd-analyze is needed of systemd.
have_systemd() {
    command -v systemd-analyze >/dev/null
}

have_npm() {
    command -v node >/dev/null && command -v npm >/dev/null
}

need_postgres=no
need_redis=no
need_chromium=no
need_haproxy=no
need_nginx=no
need_caddy=no
need_pgbouncer=no
need_prometheus=no
need_shellcheck=no
need_systemd=no
need_npm=no
for name in "$@"; do
    case $name in
    postgresql) have_postgres || need_postgres=yes ;;
    redis) have_redis || need_redis=yes ;;
    chromium) have_chromium || need_chromium=yes ;;
    haproxy) have_haproxy || need_haproxy=yes ;;
    nginx) have_nginx || need_nginx=yes ;;
    caddy) command -v caddy >/dev/null || need_caddy=yes ;;
    pgbouncer) have_pgbouncer || need_pgbouncer=yes ;;
    prometheus) have_prometheus || need_prometheus=yes ;;
    shellcheck) command -v shellcheck >/dev/null || need_shellcheck=yes ;;
    systemd) have_systemd || need_systemd=yes ;;
    npm) have_npm || need_npm=yes ;;
    *)
        echo "install.sh: unknown name $name: it knows postgresql, redis, chromium, haproxy, nginx, caddy, pgbouncer, prometheus, shellcheck, systemd and npm" >&2
        exit 2
        ;;
    esac
done

packages=
[ $need_postgres = no ] || packages="postgresql postgresql-contrib"
[ $need_redis = no ] || packages="$packages redis-server"
[ $need_chromium = no ] || packages="$packages chromium"
[ $need_haproxy = no ] || packages="$packages haproxy"
[ $need_nginx = no ] || packages="$packages nginx"
[ $need_caddy = no ] || packages="$packages caddy"
[ $need_pgbouncer = no ] || packages="$packages pgbouncer"
[ $need_prometheus = no ] || packages="$packages prometheus"
[ $need_shellcheck = no ] || packages="$packages shellcheck"
[ $need_systemd = no ] || packages="$packages systemd"
[ $need_npm = no ] || packages="$packages nodejs npm"
[ -n "$packages" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    missing="PostgreSQL $min_postgres or later with contrib"
    [ $need_postgres = yes ] || missing=
    [ $need_redis = no ] || missing="${missing:+$missing and }Redis"
    or=", or give the addresses of your own servers in DATABASE_URL and REDIS_URL"
    [ -n "$missing" ] || or=
    [ $need_chromium = no ] || missing="${missing:+$missing and }Chromium (or Google Chrome) on the PATH"
    [ $need_haproxy = no ] || missing="${missing:+$missing and }HAProxy"
    [ $need_nginx = no ] || missing="${missing:+$missing and }nginx"
    [ $need_caddy = no ] || missing="${missing:+$missing and }Caddy"
    [ $need_pgbouncer = no ] || missing="${missing:+$missing and }PgBouncer"
    [ $need_prometheus = no ] || missing="${missing:+$missing and }promtool of Prometheus"
    [ $need_shellcheck = no ] || missing="${missing:+$missing and }ShellCheck"
    [ $need_systemd = no ] || missing="${missing:+$missing and }systemd-analyze of systemd"
    [ $need_npm = no ] || missing="${missing:+$missing and }Node.js with npm"
    how="install it with your system's packages (Homebrew: postgresql@17, redis)"
    if command -v apt-get >/dev/null; then
        # shellcheck disable=SC2086,SC2116 # to leave single blanks
        how="install it as root with: apt-get install --no-install-recommends $(echo $packages)"
    fi
    echo "Storeroom needs $missing: $how$or." >&2
    exit 1
fi

# During the installation policy-rc.d prevents servers from starting and createcluster.conf
# prevents a first cluster. Both are restored afterwards.
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
restore # after an installation that was killed
log=$(mktemp)
trap 'restore; rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

[ ! -e "$policy" ] || mv "$policy" "$policy.before-storeroom"
printf '#!/bin/sh\n# storeroom: no server starts while it installs packages\nexit 101\n' >"$policy"
chmod 755 "$policy"

export DEBIAN_FRONTEND=noninteractive
# quiet_apt ARGUMENT... runs apt-get and prints its output only if it fails.
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
# shellcheck disable=SC2086 # one word per package
quiet_apt install -y --no-install-recommends $packages

# Packages also enable their servers at boot; disable them again.
if [ -d /run/systemd/system ]; then
    [ $need_redis = no ] || systemctl --quiet disable redis-server
    [ $need_haproxy = no ] || systemctl --quiet disable haproxy
    [ $need_pgbouncer = no ] || systemctl --quiet disable pgbouncer
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
