#!/bin/sh
# The LoadGen node's end of the network in compose.yaml: it finds all SUT nodes, gives them names, and shapes the link
# to each of them. The LoadGen container shares this container's network, names included, and starts when this is done.
#
#   NODES=6           wait until there are so many SUT nodes; unless given, those that are there
#   RATE=100mbit      what the link to each node carries in each direction (tc's units: kbit, mbit, gbit)
#   RATE_UP=1gbit     the same for samples, towards the nodes, and
#   RATE_DOWN=10mbit  for answers, from them
#   RATES=sut-2=10mbit,sut-3=50mbit/1gbit    single nodes: both directions, or up/down
#   DELAY=5ms JITTER=1ms LOSS=0.1%           in each direction; the kernel must have netem
#
# `link.sh rates 100mbit` gives all links another rate later, and `link.sh nodes` prints the addresses of the nodes.
#
# It takes the capability NET_ADMIN. Links that are not given a rate carry what the machine can.
set -eu
iface=${IFACE:-eth0} files=${FILES:-/cluster} hosts=${HOSTS:-/etc/hosts}
domain=lon.test port=8000 patience_s=60
# Amount that a link may send at once: more than one packet of segmentation offload (64 KiB), which would be cut up.
burst=128kb
# Longest wait of packets before a link that is full, as in a switch with shallow buffers.
queue_ms=50
fail() { echo "link.sh: $*" >&2; exit 1; }

# ---- Who is there: lines of ADDRESS NAME. All nodes share the name `node` in Docker's DNS; the name of an address is
# PROJECT_SERVICE_NUMBER.PROJECT_cluster (or with dashes).
find_nodes() {
  getent ahostsv4 node | cut -d ' ' -f 1 | sort -u | while read -r address; do
    full=$(getent hosts "$address" | tr -s ' ' | cut -d ' ' -f 2)
    label=${full%%.*} network=${full#*.}
    name=$(echo "${label#"${network%_cluster}"}" | tr _ - | sed 's/^-//')
    echo "$address $name"
  done | sort -V -k 2
}

# ---- Rates.
# The rate of a node in a direction (up or down); nothing when it has none.
rate_of() {
  own=$(echo "${RATES:-}" | tr ', ' '\n' | sed -n "s/^$1=//p" | head -n 1)
  case $2 in
    up) echo "${own%/*}" | grep . || echo "${RATE_UP:-${RATE:-}}" ;;
    down) echo "${own#*/}" | grep . || echo "${RATE_DOWN:-${RATE:-}}" ;;
  esac
}

# Bytes that pass at a rate while a packet may wait; at least what may be sent at once.
queue_bytes() {
  echo "$1" | awk -v ms=$queue_ms '
    /^[0-9.]+(k|m|g|t)?bit$/ {
      unit = $0; sub(/^[0-9.]+/, "", unit)
      per["bit"] = 1; per["kbit"] = 1e3; per["mbit"] = 1e6; per["gbit"] = 1e9; per["tbit"] = 1e12
      bytes = ($0 + 0) * per[unit] / 8 * ms / 1000
      if ($0 + 0 > 0) { printf "%d\n", bytes < 131072 ? 131072 : bytes; exit }
    }
    { exit 1 }' || fail "'$1' is not a rate: write for example 100mbit or 2.5gbit"
}

# Gives all links this rate in both directions, while they are in use.
change() {
  limit=$(queue_bytes "$1") || exit 1
  classes=$(tc class show dev ifb0 2>/dev/null | cut -d ' ' -f 3)
  [ -n "$classes" ] || fail "the links have no rate: start the cluster with LON_RATE=$1"
  for device in "$iface" ifb0; do
    for class in $classes; do
      tc class change dev "$device" parent 1: classid "$class" htb rate "$1" ceil "$1" burst $burst cburst $burst \
        quantum 60000
      # The queue of a link with delay or loss is netem's, and has no limit in bytes.
      [ -n "${DELAY:-}${JITTER:-}${LOSS:-}" ] ||
        tc qdisc change dev "$device" parent "$class" handle "${class#1:}:" bfifo limit "$limit"
    done
  done
  echo "links: $1 in both directions"
}

case ${1:-} in
  rates) change "${2:?link.sh: which rate? for example 100mbit}"; exit ;;
  nodes) find_nodes | sed "s/ .*/:$port/" | paste -s -d ,; exit ;;
esac

# The work is done by a child. When it fails, the LoadGen node is given an empty list, so that it ends at once with exit
# code 2, and both messages are seen. This container stays, because compose's --abort-on-container-exit ends everything
# when a container ends.
if [ "${1:-}" != work ]; then
  sh "$0" work || echo "# nothing was prepared: the container link says why" >"$files/nodes"
  # The health check looks for this file.
  touch /tmp/ready
  trap exit TERM INT
  while :; do sleep 3600 & wait $!; done
fi

waited_s=0
while nodes=$(find_nodes) count=$(echo "$nodes" | grep -c .) || true; [ "$count" -lt "${NODES:-1}" ]; do
  [ "$waited_s" -lt "$patience_s" ] || fail "$count SUT nodes after $patience_s s; LON_NODE_COUNT says ${NODES:-1}"
  sleep 1
  waited_s=$((waited_s + 1))
done
[ "$count" -eq "${NODES:-$count}" ] || fail "$count SUT nodes are there; LON_NODE_COUNT says $NODES"

# ---- Their names, for the LoadGen node.
echo "$nodes" | while read -r address name; do echo "$address $name.$domain"; done >>"$hosts"

# ---- The links.
impair=''
if [ -n "${DELAY:-}${JITTER:-}${LOSS:-}" ]; then
  impair="delay ${DELAY:-0ms} ${JITTER:-} ${LOSS:+loss $LOSS}"
  tc qdisc replace dev lo root netem delay 0ms 2>/dev/null ||
    fail "this machine's kernel has no netem (module sch_netem): delay, jitter and loss cannot be made here; \
unset LON_DELAY, LON_JITTER and LON_LOSS"
  tc qdisc delete dev lo root
fi

# One node's link in one direction: a class of its own, for packets with this address as source or destination.
shape() {
  device=$1 id=$2 field=$3 address=$4 rate=$5
  tc class add dev "$device" parent 1: classid "1:$id" htb rate "${rate:-100gbit}" ceil "${rate:-100gbit}" \
    burst $burst cburst $burst quantum 60000 2>/dev/null ||
    fail "'$rate' is not a rate: write for example 100mbit or 2.5gbit"
  if [ -n "$impair" ]; then
    # shellcheck disable=SC2086  # several words
    tc qdisc add dev "$device" parent "1:$id" handle "$id:" netem limit 100000 $impair ||
      fail "tc does not take LON_DELAY=${DELAY:-} LON_JITTER=${JITTER:-} LON_LOSS=${LOSS:-}"
  else
    limit=$(queue_bytes "$rate") || exit 1
    tc qdisc add dev "$device" parent "1:$id" handle "$id:" bfifo limit "$limit"
  fi
  tc filter add dev "$device" parent 1: protocol ip prio 1 u32 match ip "$field" "$address/32" flowid "1:$id"
}

for named in $(echo "${RATES:-}" | tr ', ' '\n' | sed 's/=.*//'); do
  echo "$nodes" | cut -d ' ' -f 2 | grep -qxF "$named" ||
    fail "LON_RATES names $named; there are: $(echo "$nodes" | cut -d ' ' -f 2 | tr '\n' ' ')"
done
if [ -n "${RATE:-}${RATE_UP:-}${RATE_DOWN:-}${RATES:-}$impair" ]; then
  # Queues shape what leaves, so what arrives is sent through a device in between.
  ip link add ifb0 type ifb || fail "this machine's kernel has no ifb: links cannot be shaped towards the LoadGen node"
  ip link set ifb0 mtu "$(cat "/sys/class/net/$iface/mtu")" up
  tc qdisc replace dev "$iface" root handle 1: htb
  tc qdisc replace dev ifb0 root handle 1: htb
  tc qdisc replace dev "$iface" handle ffff: ingress
  tc filter add dev "$iface" parent ffff: protocol all prio 1 u32 match u32 0 0 action mirred egress redirect dev ifb0
  class=16
  echo "$nodes" | { while read -r address name; do
    class=$((class + 1)) up=$(rate_of "$name" up) down=$(rate_of "$name" down)
    echo "link to $name: ${up:-unbounded} up, ${down:-unbounded} down${impair:+, each way $impair}"
    hex=$(printf %x $class)
    if [ -n "$up$impair" ]; then shape "$iface" "$hex" dst "$address" "$up"; fi
    if [ -n "$down$impair" ]; then shape ifb0 "$hex" src "$address" "$down"; fi
  done; }
fi

# Last: from here on they can be asked.
echo "$nodes" | while read -r _ name; do echo "$name.$domain:$port"; done >"$files/nodes"
