#!/bin/sh
# Prints the directory of the programs of PostgreSQL with Citus for tests, and builds Citus if needed:
#
#   STOREROOM_CITUS          the directory of an installation, such as /usr/lib/postgresql/15/bin
#   STOREROOM_CITUS_SOURCE   otherwise a folder with the source of Citus 13.2, which is built in DIRECTORY:
#                            find.sh DIRECTORY
set -eu

[ $# -eq 1 ] || { echo "usage: find.sh DIRECTORY" >&2; exit 2; }
if [ -n "${STOREROOM_CITUS:-}" ]; then
    library=$("$STOREROOM_CITUS/pg_config" --pkglibdir) || library=
    [ -f "$library/citus.so" ] || {
        echo "STOREROOM_CITUS=$STOREROOM_CITUS is not the directory of the programs of a PostgreSQL with Citus: it has" \
            "no pg_config, or $library has no citus.so." >&2
        exit 1
    }
    echo "$STOREROOM_CITUS"
elif [ -n "${STOREROOM_CITUS_SOURCE:-}" ]; then
    echo "Building Citus in $1 unless it is there (two minutes) ..." >&2
    exec "$(dirname "$0")/build.sh" "$STOREROOM_CITUS_SOURCE" "$1"
else
    cat >&2 <<END
The tests of a cluster need Citus, which is not part of Debian. Set one of these variables:
  STOREROOM_CITUS=DIRECTORY          the programs of a PostgreSQL with Citus, such as /usr/lib/postgresql/15/bin
  STOREROOM_CITUS_SOURCE=DIRECTORY   the source of Citus 13.2 (https://github.com/citusdata/citus), which is then built
END
    exit 1
fi
