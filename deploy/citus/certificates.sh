#!/bin/sh
# Creates the certificates with which the nodes of a Citus cluster log in to each other:
#
#   certificates.sh ca DIRECTORY          once: the authority, storeroom-ca.key and storeroom-ca.crt
#   certificates.sh node DIRECTORY HOST   for each node: HOST/storeroom-node.key and .crt, with a copy of storeroom-ca.crt
#
# HOST is the name or the address that citus_add_node gets. Keep storeroom-ca.key off the nodes: its owner can read and
# change the rows of every tenant. The authority must sign no other certificates.
#
#   DAYS   lifetime of the certificate (default 3650 for the authority, 825 for a node)
set -eu
umask 077

usage() {
    echo "usage: certificates.sh ca DIRECTORY | certificates.sh node DIRECTORY HOST" >&2
    exit 2
}

case "${1-} $#" in
'ca 2')
    mkdir -p "$2"
    cd "$2"
    [ ! -e storeroom-ca.key ] || {
        echo "certificates.sh: $2 already contains an authority" >&2
        exit 1
    }
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days "${DAYS:-3650}" \
        -subj '/CN=storeroom-ca' -addext keyUsage=critical,keyCertSign,cRLSign \
        -keyout storeroom-ca.key -out storeroom-ca.crt 2>/dev/null
    ;;
'node 3')
    cd "$2"
    [ -e storeroom-ca.key ] || {
        echo "certificates.sh: $2 contains no authority: run certificates.sh ca $2 first" >&2
        exit 1
    }
    case $3 in
    *:*) kind=IP ;;
    *[!0-9.]*) kind=DNS ;;
    *) kind=IP ;;
    esac
    mkdir -p "$3"
    # The common name is the one in pg_ident.conf. Other nodes connect to HOST, the node itself also to localhost.
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days "${DAYS:-825}" \
        -CA storeroom-ca.crt -CAkey storeroom-ca.key -subj '/CN=storeroom-node' \
        -addext basicConstraints=critical,CA:FALSE -addext "subjectAltName=$kind:$3,DNS:localhost" \
        -addext extendedKeyUsage=serverAuth,clientAuth \
        -keyout "$3/storeroom-node.key" -out "$3/storeroom-node.crt" 2>/dev/null
    cp storeroom-ca.crt "$3"
    ;;
*) usage ;;
esac
