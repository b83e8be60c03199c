#!/bin/sh
# Gives the network interface of this network namespace a bandwidth, in both directions, with a token bucket each; then
# stays, because its container is what the rest waits for. Runs as root beside a SUT node whose namespace it shares.
#
#   RATE=100mbit shape.sh           # tc's units: mbit, gbit; IFACE=eth0 unless given
set -eu
rm -f /tmp/shaped
iface=${IFACE:-eth0}
rate=${RATE:?RATE is not set: for example RATE=100mbit}
# A burst of at least one segmentation-offload packet (64 KiB): smaller ones would be cut up or dropped. The queue
# before it holds up to 50 ms, which is what a switch with shallow buffers has.
bucket="tbf rate $rate burst 128kb latency 50ms"

# From the SUT node: the interface's own queue.
# shellcheck disable=SC2086  # the bucket is several words
tc qdisc replace dev "$iface" root $bucket
# Towards it: queues shape what leaves, so what arrives is sent through a device in between.
ip link add ifb0 type ifb 2>/dev/null || true
ip link set ifb0 mtu "$(cat "/sys/class/net/$iface/mtu")" up
# shellcheck disable=SC2086
tc qdisc replace dev ifb0 root $bucket
tc qdisc replace dev "$iface" handle ffff: ingress
tc filter replace dev "$iface" parent ffff: prio 1 handle 800::800 protocol all u32 match u32 0 0 \
  action mirred egress redirect dev ifb0

tc qdisc show
# What the health check looks for.
touch /tmp/shaped
trap exit TERM INT
while :; do sleep 3600 & wait $!; done
