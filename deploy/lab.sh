#!/usr/bin/env bash
# A test cluster without Docker: hosts that are network namespaces, on a switch in a namespace of its own. Each host has
# an interface eth0 on a link that can be given a rate, cut and healed. Host 0 is for the LoadGen node, the others are
# for SUT nodes. Nothing of it is seen outside the namespaces. It takes root and iproute2.
#
#    host 0: eth0 10.77.0.1 ── port0 ┐
#    host 1: eth0 10.77.0.2 ── port1 ┤ br0
#    host 2: eth0 10.77.0.3 ── port2 ┘
#
#   lab.sh up NAME [--nodes 2] [--rate R] [--loadgen-rate R] [--delay T] [--jitter T] [--loss P] [--owner PID]
#   lab.sh serve NAME [FLAGS]         one sut-node in each host but 0, with these flags: sut-1, sut-2, ...
#   lab.sh run NAME [FLAGS]           loadgen-node run in host 0 over the nodes that serve, with these flags
#   lab.sh exec NAME HOST COMMAND...  any command in a host
#   lab.sh rate NAME HOST R           another rate; `none` lets the link carry what the machine can
#   lab.sh rates NAME R               the same for the links of all hosts but 0
#   lab.sh pair NAME HOST OTHER R     a rate of its own for what HOST sends to OTHER, until the next `rate` of HOST
#   lab.sh cut NAME HOST              pulls a host's cable, at the switch
#   lab.sh heal NAME HOST             puts it back
#   lab.sh show NAME                  hosts, addresses, rates
#   lab.sh processes NAME HOST        ids of the processes in a host
#   lab.sh down NAME                  ends all processes in its hosts, and removes it
#
# A rate R is 100mbit, or 1gbit/100mbit: towards the host / from the host. --rate is for the links of hosts 1 and up.
# --delay, --jitter and --loss are for each of these links in each direction; the kernel must have netem.
# When the owner ends, however it ends, the lab goes, too: --owner PID, else whoever called `lab.sh up` (the shell).
# LON_BIN is the folder of the programs, target/release unless given.
#
# For example: lab.sh up a --nodes 4 --rate 100mbit; lab.sh serve a --backend null
#              lab.sh run a --benchmark synthetic --scenario Offline; lab.sh down a
set -euo pipefail
script=$(readlink -f "$0")
state=/run/lon-lab
prefix=lon-lab
most_nodes=1000
# Longest wait of a packet before a link that is full, as far as the queue goes: enough for TCP to fill the link, too
# little for a heartbeat to be missed.
queue=25ms
# Bytes that a link may send at once: one millisecond of rate, so that timers may be late by that, and at least 32 KiB.
least_burst=32768

fail() { echo "lab.sh: $*" >&2; exit 2; }
usage() { sed -n '2,/^set -/{/^set -/!s/^# \{0,1\}//p}' "$script"; }

# ---- Names ----
namespace() { echo "$prefix-$name-h$1"; }
switch() { echo "$prefix-$name-sw"; }
address() { echo "10.77.$((($1 + 1) / 256)).$((($1 + 1) % 256))"; }
# Reads NAME and checks that there is such a lab.
named() {
  name=${1:?lab.sh: which lab? give its NAME}
  [ -e "$state/$name/hosts" ] || fail "there is no lab $name${labs:+; there are: $labs}"
  hosts=$(<"$state/$name/hosts")
}
# Reads HOST.
hosted() {
  host=${1:?lab.sh: which host? give its number}
  [[ $host =~ ^[0-9]+$ ]] && [ "$host" -lt "$hosts" ] || fail "lab $name has no host $host: 0 to $((hosts - 1))"
}

# ---- Links ----
# Bits a second of a rate as tc writes it.
bits() {
  awk -v rate="$1" 'BEGIN {
    per["bit"] = 1; per["kbit"] = 1e3; per["mbit"] = 1e6; per["gbit"] = 1e9
    unit = rate; sub(/^[0-9]+(\.[0-9]+)?/, "", unit)
    if (!(unit in per) || rate + 0 <= 0) exit 1
    printf "%.0f\n", (rate + 0) * per[unit] }' || fail "'$1' is not a rate: write for example 100mbit or 2.5gbit"
}
# Bounds what leaves by an interface, with no bounds before: NAMESPACE INTERFACE RATE IMPAIRMENT [CLASS]; "none" for no
# rate. CLASS is where the interface has classes: not all of it is bounded.
bound() {
  local limit burst at=root handle=1
  if [ $# -gt 4 ]; then at="parent $5" handle=1${5#*:}; fi
  if [ "$3" != none ]; then
    limit=$(bits "$3")
    burst=$((limit / 8000 > least_burst ? limit / 8000 : least_burst))
    # shellcheck disable=SC2086  # two words
    tc -n "$1" qdisc add dev "$2" $at handle "$handle:" tbf rate "$limit" burst "$burst" latency $queue
    at="parent $handle:1"
  fi
  if [ -n "$4" ]; then
    # shellcheck disable=SC2086  # several words
    tc -n "$1" qdisc add dev "$2" $at netem limit 100000 $4
  fi
}
unbound() { tc -n "$1" qdisc delete dev "$2" root 2>/dev/null || true; }
# Prints the delay, jitter and loss of a host's link, apart from its rate: HOST.
impairment() { if [ "$1" != 0 ]; then cat "$state/$name/impair"; fi; }
# Gives a host's link a rate: HOST RATE[/RATE].
link() {
  [ "$2" = none ] || { bits "${2%/*}" && bits "${2#*/}"; } >/dev/null
  unbound "$(switch)" "port$1"
  bound "$(switch)" "port$1" "${2%/*}" "$(impairment "$1")"
  unbound "$(namespace "$1")" eth0
  bound "$(namespace "$1")" eth0 "${2#*/}" "$(impairment "$1")"
  echo "$2" >"$state/$name/rate-$1"
}
# Bounds what a host sends to another one, apart from what else it sends: HOST OTHER RATE.
pair() {
  local space rate
  bits "$3" >/dev/null
  space=$(namespace "$1") rate=$(<"$state/$name/rate-$1") rate=${rate%%,*}
  unbound "$space" eth0
  # Its classes only tell packets apart: their rates are more than a machine carries.
  tc -n "$space" qdisc add dev eth0 root handle f: htb default 1
  tc -n "$space" class add dev eth0 parent f: classid f:1 htb rate 100gbit quantum 60000
  tc -n "$space" class add dev eth0 parent f: classid f:2 htb rate 100gbit quantum 60000
  tc -n "$space" filter add dev eth0 parent f: protocol ip u32 match ip dst "$(address "$2")/32" flowid f:2
  bound "$space" eth0 "${rate#*/}" "$(impairment "$1")" f:1
  bound "$space" eth0 "$3" "$(impairment "$1")" f:2
  echo "$rate, $3 to host $2" >"$state/$name/rate-$1"
}
need_netem() {
  tc -n "$(switch)" qdisc add dev br0 root netem delay 0ms 2>/dev/null ||
    fail "this machine's kernel has no netem (module sch_netem): --delay, --jitter and --loss cannot be had here"
  tc -n "$(switch)" qdisc delete dev br0 root
}

# ---- Up and down ----
# Removes a lab, whatever there is of it; the rest of the machine is left alone.
remove() {
  local one pids
  for one in $(ip netns list | awk -v begin="$prefix-$1-" \
    'index($1, begin) == 1 && substr($1, length(begin) + 1) ~ /^(h[0-9]+|sw)$/ { print $1 }'); do
    pids=$(ip netns pids "$one" 2>/dev/null || true)
    # shellcheck disable=SC2086  # several numbers
    [ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
    ip netns delete "$one" 2>/dev/null || true
  done
  rm -rf "${state:?}/$1"
}
# A process that is there and is the one that was written down, not a later one of the same number.
is_alive() { [ -n "$1" ] && [ "$1" = "$(started "${1%%@*}")" ]; }
started() { [ -e "/proc/$1/stat" ] && echo "$1@$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20)"; }
# Removes labs whose owner is gone and whose keeper was killed before it could.
sweep() {
  local one
  for one in $labs; do
    is_alive "$(cat "$state/$one/owner" 2>/dev/null)" || remove "$one"
  done
}
# Removes the lab when its owner has ended. A process of its own, in a session of its own.
keep() {
  local owner
  owner=$(<"$state/$1/owner")
  while is_alive "$owner" && [ "$(cat "$state/$1/owner" 2>/dev/null)" = "$owner" ]; do sleep 0.5; done
  # Another lab of this name may have come since.
  if [ "$(cat "$state/$1/owner" 2>/dev/null)" = "$owner" ]; then remove "$1"; fi
}

up() {
  local nodes=2 rate=none loadgen_rate=none delay='' jitter='' loss='' owner=$PPID host
  name=${1:-}
  [ -n "$name" ] || fail "give the lab a NAME: lab.sh up NAME"
  shift
  [[ $name =~ ^[a-z0-9][a-z0-9-]{0,40}$ ]] || fail "'$name' cannot be a lab's name: a-z, 0-9 and -"
  while [ $# -gt 0 ]; do
    [ $# -gt 1 ] || fail "$1 needs a value"
    case $1 in
      --nodes) nodes=$2 ;;
      --rate) rate=$2 ;;
      --loadgen-rate) loadgen_rate=$2 ;;
      --delay) delay=$2 ;;
      --jitter) jitter=$2 ;;
      --loss) loss=$2 ;;
      --owner) owner=$2 ;;
      *) fail "unknown flag $1; see lab.sh help" ;;
    esac
    shift 2
  done
  [[ $nodes =~ ^[1-9][0-9]*$ ]] && [ "$nodes" -le $most_nodes ] || fail "--nodes is 1 to $most_nodes, not '$nodes'"
  owner=$(started "$owner") || fail "--owner: there is no such process"
  sweep
  # It appears with its owner, since whoever sweeps removes what has none.
  mkdir -p "$state/.$name.$$"
  echo "$owner" >"$state/.$name.$$/owner"
  mv -T "$state/.$name.$$" "$state/$name" 2>/dev/null ||
    { rm -rf "$state/.$name.$$"; fail "there is a lab $name already: lab.sh down $name"; }
  # A failure or an interrupt from here on leaves nothing.
  trap 'remove "$name"' EXIT
  trap 'exit 130' INT TERM HUP
  if [ -n "$delay$jitter$loss" ]; then
    echo "delay ${delay:-0ms} $jitter ${loss:+loss $loss}" >"$state/$name/impair"
  else
    : >"$state/$name/impair"
  fi
  setsid "$script" keep "$name" </dev/null >/dev/null 2>&1 &
  ip netns add "$(switch)"
  ip -n "$(switch)" link add br0 type bridge
  turn_on "$(switch)" br0
  [ -z "$delay$jitter$loss" ] || need_netem
  for ((host = 0; host <= nodes; host++)); do add "$host"; done
  for ((host = 0; host <= nodes; host++)); do
    if [ "$host" = 0 ]; then link 0 "$loadgen_rate"; else link "$host" "$rate"; fi
  done
  # Last: from here on it can be used.
  echo $((nodes + 1)) >"$state/$name/hosts"
  trap - EXIT
}
# Turns an interface on; without IPv6, for which it would send packets that nobody asked for.
turn_on() {
  ip -n "$1" link set dev "$2" addrgenmode none
  ip -n "$1" link set dev "$2" up
}
add() {
  ip netns add "$(namespace "$1")"
  ip link add eth0 netns "$(namespace "$1")" type veth peer name "port$1" netns "$(switch)"
  ip -n "$(switch)" link set dev "port$1" master br0
  turn_on "$(switch)" "port$1"
  ip -n "$(namespace "$1")" link set dev lo up
  turn_on "$(namespace "$1")" eth0
  ip -n "$(namespace "$1")" address add "$(address "$1")/16" dev eth0
}

# ---- Programs ----
in_host() { exec ip netns exec "$(namespace "$1")" "${@:2}"; }
program() {
  local bin=${LON_BIN:-$(dirname "$script")/../target/release}
  [ -x "$bin/$1" ] || fail "there is no $bin/$1: build it, or set LON_BIN to its folder"
  echo "$bin/$1"
}
serve() {
  local host sut_node log
  sut_node=$(program sut-node)
  for ((host = 1; host < hosts; host++)); do
    log=$state/$name/sut-$host.log
    ip netns exec "$(namespace "$host")" setsid "$sut_node" serve --node "sut-$host" \
      --listen "$(address "$host"):8000" --insecure "$@" </dev/null >"$log.ready" 2>"$log" &
    echo $! >"$state/$name/sut-$host.pid"
  done
  for ((host = 1; host < hosts; host++)); do
    log=$state/$name/sut-$host.log
    until grep -q serving "$log.ready" 2>/dev/null; do
      kill -0 "$(<"$state/$name/sut-$host.pid")" 2>/dev/null || { cat "$log" >&2; fail "sut-$host ended"; }
      sleep 0.05
    done
  done
  echo "$((hosts - 1)) nodes serve; their logs: $state/$name/sut-*.log"
}
addresses() {
  local host
  for ((host = 1; host < hosts; host++)); do printf '%s:8000,' "$(address "$host")"; done | sed 's/,$//'
}
show() {
  local host cable
  for ((host = 0; host < hosts; host++)); do
    cable=''
    ip -n "$(switch)" link show dev "port$host" | grep -q 'state DOWN' && cable='  cut'
    echo "host $host  $(address "$host")  rate $(<"$state/$name/rate-$host")  $(namespace "$host")$cable"
  done
}

verb=${1:-help}
[ $# -eq 0 ] || shift
case $verb in help | -h | --help) usage; exit ;; esac
for tool in ip tc; do command -v $tool >/dev/null || fail "there is no $tool: apt-get install iproute2"; done
[ "$(id -u)" = 0 ] || fail "network namespaces take root"
labs=$(find "$state" -mindepth 1 -maxdepth 1 ! -name '.*' -printf '%f ' 2>/dev/null || true)
case $verb in
  up) up "$@" ;;
  down) named "${1:-}"; remove "$name" ;;
  serve) named "${1:-}"; shift; serve "$@" ;;
  run) named "${1:-}"; shift; in_host 0 "$(program loadgen-node)" run --sut "$(addresses)" --insecure "$@" ;;
  exec) named "${1:-}"; hosted "${2:-}"; in_host "$2" "${@:3}" ;;
  rate) named "${1:-}"; hosted "${2:-}"; link "$host" "${3:?lab.sh: which rate? for example 100mbit, or none}" ;;
  rates)
    named "${1:-}"
    for ((host = 1; host < hosts; host++)); do link "$host" "${2:?lab.sh: which rate? for example 100mbit, or none}"; done ;;
  pair) named "${1:-}"; hosted "${2:-}"; hosted "${3:-}"; pair "$2" "$3" "${4:?lab.sh: which rate?}" ;;
  cut) named "${1:-}"; hosted "${2:-}"; ip -n "$(switch)" link set dev "port$host" down ;;
  heal) named "${1:-}"; hosted "${2:-}"; ip -n "$(switch)" link set dev "port$host" up ;;
  show) named "${1:-}"; show ;;
  processes) named "${1:-}"; hosted "${2:-}"; ip netns pids "$(namespace "$host")" ;;
  # The command that `up` starts; not for people.
  keep) keep "$1" ;;
  *) fail "unknown command $verb; see lab.sh help" ;;
esac
