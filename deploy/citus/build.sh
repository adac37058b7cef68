#!/bin/sh
# Builds Citus for PostgreSQL 15 of Debian or Ubuntu, beside the installed one: build.sh SOURCE DIRECTORY
#
# SOURCE is a folder with the source of Citus 13.2. DIRECTORY gets a copy of PostgreSQL with Citus. The script prints the
# directory of its programs, and does nothing if they are there. It installs build tools, which needs root, unless they
# are installed. A production server uses the packages of Citus instead; see README.md.
set -eu

version=15
[ $# -eq 2 ] || { echo "usage: build.sh SOURCE DIRECTORY" >&2; exit 2; }
[ -f "$1/src/backend/distributed/citus.control" ] || {
    echo "build.sh: $1 does not contain the source of Citus" >&2
    exit 1
}
source=$(cd "$1" && pwd)
mkdir -p "$2"
directory=$(cd "$2" && pwd)
installed=usr/lib/postgresql/$version
bin=$directory/$installed/bin
if [ -f "$directory/$installed/lib/citus.so" ]; then
    echo "$bin"
    exit 0
fi

build() {
    missing=
    for package in gcc make liblz4-dev libzstd-dev libssl-dev libxml2-dev libpq-dev; do
        dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
            missing="$missing $package"
    done
    # shellcheck disable=SC2086 # one word per package
    [ -z "$missing" ] || apt-get install -y -q --no-install-recommends $missing
    rm -rf "$directory/packages" "$directory/source"
    mkdir "$directory/packages" "$directory/source"
    cd "$directory/packages"
    apt-get download -q postgresql-$version postgresql-client-$version postgresql-server-dev-$version \
        libkrb5-dev krb5-multidev
    for package in *.deb; do dpkg -x "$package" "$directory"; done
    cp -R "$source/." "$directory/source"
    cd "$directory/source"
    touch configure # or make builds it again with autoconf
    # PostgreSQL 15.19 and later declare a function that Citus 13.2.2 defines.
    if grep -q have_createdb_privilege "$directory/usr/include/postgresql/$version/server/commands/dbcommands.h"; then
        perl -0pi -e 's/static inline bool\nhave_createdb_privilege\(void\)\n\{.*?\n\}\n//s' src/include/pg_version_compat.h
    fi
    ./configure PG_CONFIG="$bin/pg_config" --without-libcurl \
        CPPFLAGS="-I$directory/usr/include -I/usr/include/postgresql"
    make -j"$(nproc)" with_llvm=no extension
    make with_llvm=no install
}

log=$directory/build.log
(set -e; build) >"$log" 2>&1 & # not in a condition, where set -e has no effect
wait $! || {
    tail -n 20 "$log" >&2
    echo "build.sh: the build failed; see $log" >&2
    exit 1
}
[ -f "$directory/$installed/lib/citus.so" ] || {
    echo "build.sh: make installed no citus.so below $directory; see $log" >&2
    exit 1
}
chmod a+x "$directory/.." # servers run as another account
echo "$bin"
