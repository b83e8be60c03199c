#!/bin/sh
# Makes what mutual TLS in compose.yaml needs: a CA, and certificates of the SUT nodes, of the LoadGen node and of the
# nodes' health checks, all new at every start. The CA's key is not kept. Then it stays, because compose's
# --abort-on-container-exit ends everything when a container ends.
#
#   TLS=on OWNER=1000 certificates.sh     # OWNER is the LoadGen container's user; TLS=off or own: nothing is made
set -eu
days=30 domain=lon.test node_user=65532
cd "${FILES:-/tls}"

# One certificate of the CA: NAME, its other names, what it is good for, the user who may read its key.
certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days $days -subj "/CN=$1" \
    -CA ca.pem -CAkey /tmp/ca.key -addext "subjectAltName=$2" -addext "basicConstraints=critical,CA:FALSE" \
    -addext "extendedKeyUsage=$3" -keyout "$1.key" -out "$1.pem" 2>/tmp/log || { cat /tmp/log >&2; exit 1; }
  chown "$4" "$1.key"
}

case $TLS in
  on)
    rm -f ./*.key ./*.pem
    umask 077
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days $days -subj "/CN=lon CA" \
      -keyout /tmp/ca.key -out ca.pem 2>/tmp/log || { cat /tmp/log >&2; exit 1; }
    certificate node "DNS:*.$domain,IP:127.0.0.1" serverAuth $node_user
    certificate health "DNS:health.$domain" clientAuth $node_user
    certificate loadgen "DNS:loadgen.$domain" clientAuth "$OWNER"
    rm /tmp/ca.key
    chmod 644 ./*.pem
    ;;
  off | own) ;;
  *) echo "certificates.sh: LON_TLS is '$TLS'; it is on, off, or own" >&2; exit 2 ;;
esac

# The health check looks for this file.
touch /tmp/ready
trap exit TERM INT
while :; do sleep 3600 & wait $!; done
