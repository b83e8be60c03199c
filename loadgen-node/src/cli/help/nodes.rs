//! The texts of `--help` of the commands on nodes: `probe` and `fleet`.

pub(crate) const PROBE: &str = "Measures each node alone, then all of them at once: round trips of requests of \
several sizes, goodput towards the SUT, back, and both at once, and round trips while both are full. Samples travel as \
in a run, over the same transport and connections; only the backend is left out. The probe also \
prints CPU time and counters of both ends, and the samples per second of each MLPerf benchmark that this goodput \
carries.

--save keeps a probe as a baseline, --against compares a later one with it, --watch goes on without end.

--matrix has the SUT nodes measure each other as well, in pairs, no host in two at a time: sut-node serve --token-file \
(or --tls-ca) and --probe-peers allow it. Each link is compared with the median of all, with --tolerance. If nearly \
all links of a host are slow, the host is named; otherwise the link is. A verdict takes three nodes, and four tell a \
host from a link.

A node that is busy with a run is not probed (--wait-ready waits for it).

Examples:
  loadgen-node probe --sut 10.0.0.2:8000,10.0.0.3:8000 --insecure
  loadgen-node probe --sut dns:sut:8000 --tls-ca ca.pem --transport all \\
      --connections 1,2,4,8 --seconds 1
  loadgen-node probe --sut 10.0.0.2:8000 --insecure --save good.json
  loadgen-node probe --sut 10.0.0.2:8000 --insecure --against good.json
  loadgen-node probe --sut 10.0.0.2:8000 --insecure --watch 1s
  loadgen-node probe --sut 10.0.0.2:8000 --insecure \\
      --require resnet50=20000,bert=5000
  loadgen-node probe --sut 10.0.0.4:8000,10.0.0.5:8000 --insecure \\
      --token-file token --matrix --transport tcp
  loadgen-node probe --link-rate 25G

Exit code 3 when --against finds a loss beyond the tolerance or another configuration, --matrix a slow host or \
link, or --require rates that the fabric does not carry; 2 when --against is undecided; 4 when a node is busy, is lost \
meanwhile, or cannot measure another; what had been measured is printed.";

pub(crate) const FLEET: &str = "One TOML file names the nodes, their hosts and how the hosts are reached; init writes \
it with comments:

  fleet check FILE    what is missing at a host, or in the way; its clock
  fleet start FILE    starts the nodes, and waits until they answer
  fleet status FILE   which nodes run and answer
  fleet logs FILE     copies their logs
  fleet stop FILE     ends the nodes that start has started, and no others
  loadgen-node run $(loadgen-node fleet nodes FILE) ...

Each host runs one line of POSIX shell, over ssh unless the file has another command (ip netns exec, docker exec). It \
needs Linux with its usual commands, and sut-node. Logs and pids are in a folder there. All nodes are asked at the \
same time, up to the file's parallel; one that takes longer than the file's timeout has failed. Secrets never stand in \
the file: it names the files that have them.

Examples:
  loadgen-node fleet init fleet.toml
  loadgen-node fleet nodes fleet.toml
  loadgen-node fleet start fleet.toml --only N1 --dry-run

Exit code 2 when the file cannot be used; 4 when a node or its host failed: it cannot be reached, lacks the program, \
does not start, run, answer or end.";
