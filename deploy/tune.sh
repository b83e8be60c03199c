#!/usr/bin/env bash
# Prepares a host for low and steady latency. Prints what it would do and why; changes nothing unless told to.
#
#   deploy/tune.sh                               # what would be done, with the values there are now
#   sudo deploy/tune.sh --apply                  # does it; until the next boot
#   deploy/tune.sh --interface eth1 [--mtu 9000] # also the network card the run travels by
#   deploy/tune.sh --realtime USER               # also the right to real-time priority (--priority), from the next login
#
# Applied settings are gone after a reboot: put the sysctl lines into /etc/sysctl.d to keep them. A setting that this
# kernel, driver or virtual machine does not have is named and left out.
set -euo pipefail
apply=no interface='' mtu='' user=''
while [ $# -gt 0 ]; do
  case $1 in
    --apply) apply=yes ;;
    --interface) interface=${2:?--interface needs a name}; shift ;;
    --realtime) user=${2:?--realtime needs a user}; shift ;;
    --mtu) mtu=${2:?--mtu needs a number}; shift ;;
    --help | -h) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "tune.sh: unknown argument $1 (see --help)" >&2; exit 2 ;;
  esac
  shift
done
if [ "$apply" = yes ] && [ "$(id -u)" -ne 0 ]; then
  echo "tune.sh: --apply needs root" >&2
  exit 2
fi
if [ -n "$mtu" ] && [ -z "$interface" ]; then
  echo "tune.sh: --mtu needs --interface" >&2
  exit 2
fi
if [ -n "$interface" ] && [ ! -e "/sys/class/net/$interface" ]; then
  echo "tune.sh: there is no interface $interface" >&2
  exit 2
fi
# Elsewhere than in /, for tests.
root=${TUNE_ROOT:-}
failed=0

# step "WHY" "NOW" COMMAND...: says it, and does it if asked to.
step() {
  local why=$1 now=$2
  shift 2
  local shown=$*
  if [ "$1" = write ]; then shown="echo '$3' >$2"; fi
  printf '# %s\n#   now: %s\n%s\n' "$why" "$now" "$shown"
  if [ "$apply" = yes ] && ! "$@"; then
    echo "#   failed" && failed=1
  fi
}

# left_out "WHAT" "REASON"
left_out() { printf '# left out: %s (%s)\n' "$1" "$2"; }

# setting KEY VALUE "WHY": a sysctl. Numbers are only ever raised, unless VALUE begins with =.
setting() {
  local key=$1 value=${2#=} file now
  file=$root/proc/sys/${key//./\/}
  if [ ! -r "$file" ]; then left_out "$key" "this kernel does not have it"; return; fi
  now=$(tr '\t' ' ' <"$file")
  if [ "$now" = "$value" ]; then return; fi
  if [ "$2" = "$value" ] && [ "${now##* }" -ge "${value##* }" ]; then return; fi
  step "$3" "$now" write "$file" "$value"
}

# shellcheck disable=SC2329  # by step
write() { printf '%s\n' "$2" 2>/dev/null >"$1"; }

# --- Sockets
setting net.core.rmem_max 16777216 "QUIC asks for receive buffers of 8 MiB; a burst that finds no room is sent again"
setting net.core.wmem_max 16777216 "the same for what leaves"
setting net.ipv4.tcp_rmem "4096 131072 33554432" "TCP grows its windows up to this: bandwidth times delay of the link, \
10 Gbit/s times 25 ms"
setting net.ipv4.tcp_wmem "4096 65536 33554432" "the same for what leaves"
setting net.ipv4.tcp_slow_start_after_idle =0 "a connection that was idle between queries would start slowly again"
setting net.core.netdev_max_backlog 16384 "packets that arrive faster than a core takes them wait here, else they are \
dropped"
setting net.core.somaxconn 4096 "LoadGen nodes with many connections dial all of them at once"
setting net.core.busy_read =50 "a read that finds nothing looks at the card for 50 us before it sleeps; saves the \
interrupt and the wake-up"
setting net.core.busy_poll =50 "the same for whoever waits for many sockets"

# --- Processor
governors=("$root"/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor)
if [ -e "${governors[0]}" ]; then
  for governor in "${governors[@]}"; do
    now=$(<"$governor")
    [ "$now" = performance ] ||
      step "a core that clocks up only under load answers the first queries slowly" "$now" write "$governor" performance
  done
else
  left_out "frequency governor" "not visible here: a virtual machine, or set in the firmware"
fi
idle=no
for latency in "$root"/sys/devices/system/cpu/cpu*/cpuidle/state*/latency; do
  [ -e "$latency" ] || continue
  idle=yes
  disable=$(dirname "$latency")/disable
  if [ "$(<"$latency")" -gt 10 ] && [ "$(<"$disable")" = 0 ]; then
    step "waking from this idle state takes $(<"$latency") us, on top of every answer" 0 write "$disable" 1
  fi
done
[ "$idle" = yes ] || left_out "idle states" "not visible here: the hypervisor decides how deep cores sleep"
setting kernel.numa_balancing =0 "moving pages between memory nodes stops the threads that use them"
setting kernel.timer_migration =0 "timers stay on the core that set them, and its sleep is as exact as it can be"
setting vm.swappiness =1 "a page that was swapped out costs milliseconds"

# --- Real-time priority
if [ -n "$user" ]; then
  limits=$root/etc/security/limits.d/lon.conf
  wanted="$user - rtprio 10"
  now=$(cat "$limits" 2>/dev/null || true)
  [ "$now" = "$wanted" ] ||
    step "threads that others wait for run as soon as they are ready, whatever other programs want" "${now:-none}" \
      write "$limits" "$wanted"
fi

# --- Network card
if [ -n "$interface" ]; then
  card=$root/sys/class/net/$interface
  if [ -n "$mtu" ]; then
    now=$(<"$card/mtu")
    [ "$now" = "$mtu" ] ||
      step "larger frames, fewer packets for each sample; switch and peers must have it, too" "$now" \
        ip link set dev "$interface" mtu "$mtu"
  fi
  if ! command -v ethtool >/dev/null; then
    left_out "interrupts and rings of $interface" "ethtool is not installed"
  else
    if now=$(ethtool -c "$interface" 2>/dev/null | grep -E '^(Adaptive RX|rx-usecs:)' | tr -s ' \t\n' ' '); then
      step "the card would gather packets before it interrupts: good for throughput, bad for latency" "$now" \
        ethtool -C "$interface" adaptive-rx off adaptive-tx off rx-usecs 0
    else
      left_out "interrupt coalescing of $interface" "the driver does not have it"
    fi
    if rings=$(ethtool -g "$interface" 2>/dev/null); then
      most=$(awk '/^RX:/ { print $2; exit }' <<<"$rings")
      now=$(awk '/^RX:/ { value = $2 } END { print value }' <<<"$rings")
      [ "$most" = "$now" ] ||
        step "a burst of answers must find room in the card's ring, else it is dropped" "$now" \
          ethtool -G "$interface" rx "$most"
    else
      left_out "rings of $interface" "the driver does not have them"
    fi
  fi
fi

if [ "$apply" = no ]; then echo "# nothing was changed; --apply does it"; fi
exit $failed
