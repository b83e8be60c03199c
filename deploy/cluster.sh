#!/usr/bin/env bash
# The test cluster of compose.yaml, by `docker compose` or docker-compose, whichever is here.
#
#   deploy/cluster.sh up --abort-on-container-exit --exit-code-from loadgen [--scale sut=4]
#   deploy/cluster.sh down --volumes
#
#   deploy/cluster.sh up -d link [--scale sut=2]      the nodes alone, with their links (LON_RATE gives them a rate)
#   deploy/cluster.sh nodes                           their addresses
#   deploy/cluster.sh rates 100mbit                   another rate for all links, while the cluster is up
#   deploy/cluster.sh exec COMMAND...                 a program of this machine at the LoadGen node's end; takes root
#
# All other arguments are those of compose, and so is the exit code. Where `up` fails, the last lines of SUT nodes that have
# failed are shown: compose itself calls such a node "unhealthy", whatever its own error is.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# Number of nodes that are shown, and of lines of each.
nodes=3 lines=5

if docker compose version >/dev/null 2>&1; then
  compose=(docker compose)
elif command -v docker-compose >/dev/null; then
  compose=(docker-compose)
else
  echo "cluster.sh: neither 'docker compose' nor docker-compose is here: install the package docker-compose-plugin or" \
    "docker-compose" >&2
  exit 2
fi
compose+=(--file "$here/compose.yaml")

# The container that is the LoadGen node's end of the network.
link=''
find_link() {
  link=$("${compose[@]}" ps --quiet link 2>/dev/null)
  [ -n "$link" ] || { echo "cluster.sh: no cluster is up: deploy/cluster.sh up -d link" >&2; exit 2; }
}
case ${1:-} in
  nodes | rates)
    find_link
    exec docker exec "$link" sh /usr/local/bin/link.sh "$@" ;;
  exec)
    find_link
    shift
    # /sys shows the interfaces of the namespace in which it was mounted.
    exec nsenter --target "$(docker inspect --format '{{.State.Pid}}' "$link")" --net -- \
      unshare --mount sh -c 'mount -t sysfs sysfs /sys && exec "$@"' sh "$@" ;;
esac

"${compose[@]}" "$@"
code=$?
[ $code -ne 0 ] && case " $* " in *" up "*) true ;; *) false ;; esac || exit $code

# State, exit code, health, service and name of a container.
facts='{{.State.Status}} {{.State.ExitCode}} {{if .State.Health}}{{.State.Health.Status}}{{else}}-{{end}}'
facts+=' {{index .Config.Labels "com.docker.compose.service"}} {{.Name}}'
for id in $("${compose[@]}" ps --all --quiet 2>/dev/null); do
  read -r state exit_code health service name < <(docker inspect --format "$facts" "$id") || continue
  case $service in sut | other | gpu) ;; *) continue ;; esac
  case $state:$exit_code:$health in
    # The container ended in order, or compose ended it.
    exited:0:* | exited:137:* | exited:143:*) continue ;;
    exited:*) what="ended with exit code $exit_code" ;;
    *:unhealthy) what="is not ready to serve" ;;
    *) continue ;;
  esac
  [ $nodes -gt 0 ] || { echo "cluster.sh: and more nodes" >&2; break; }
  nodes=$((nodes - 1))
  echo "cluster.sh: node ${name#/} $what; its last lines:" >&2
  docker logs --tail $lines "$id" 2>&1 | sed 's/^/  /' >&2
done
exit $code
