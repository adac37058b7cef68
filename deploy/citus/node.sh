#!/bin/sh
# Configures a node of a Citus cluster: node.sh DIRECTORY CERTIFICATES "NODES" "CLIENTS"
#
# DIRECTORY contains postgresql.conf and pg_hba.conf of PostgreSQL, such as /etc/postgresql/15/main. CERTIFICATES is the
# folder that certificates.sh made for this node. NODES and CLIENTS are addresses with masks, separated by spaces: those
# of all nodes, and those of instances and operators. Run it as the owner of DIRECTORY, then restart PostgreSQL. After a
# change of addresses or certificates run it again, then reload.
#
#   SUPERUSER   the superuser of PostgreSQL (default postgres)
set -eu
umask 077

[ $# -eq 4 ] || {
    echo "usage: node.sh DIRECTORY CERTIFICATES \"NODES\" \"CLIENTS\"" >&2
    exit 2
}
[ -f "$1/postgresql.conf" ] || {
    echo "node.sh: $1 does not contain postgresql.conf" >&2
    exit 1
}
files=$(cd "$(dirname "$0")" && pwd)
directory=$(cd "$1" && pwd)

# put FILE replaces a file in the directory by its standard input.
put() {
    cat >"$directory/$1.new"
    mv "$directory/$1.new" "$directory/$1"
}

for name in storeroom-ca.crt storeroom-node.crt storeroom-node.key; do
    put "$name" <"$2/$name"
done
sed "/^#/!s|DIRECTORY|$directory|g" "$files/postgresql.conf" | put storeroom-citus.conf
sed "/^#/!s|SUPERUSER|${SUPERUSER:-postgres}|" "$files/pg_ident.conf" | put pg_ident.conf
# A line with NODES or CLIENTS becomes one line for each address.
awk -v nodes="$3" -v clients="$4" '
    function each(word, list,    i, n, all, line) {
        n = split(list, all, " ")
        for (i = 1; i <= n; i++) {
            line = $0
            sub(word, all[i], line)
            print line
        }
    }
    /^#/ { print; next }
    / NODES / { each("NODES", nodes); next }
    / CLIENTS / { each("CLIENTS", clients); next }
    { print }' "$files/pg_hba.conf" | put pg_hba.conf
grep -q '^include .storeroom-citus.conf' "$directory/postgresql.conf" ||
    echo "include 'storeroom-citus.conf'" >>"$directory/postgresql.conf"
