"""A Slurm cluster on this machine: its controller and its nodes, each in a network namespace of a lab."""

import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from cluster import BINARIES, DEPLOY, environment, run, wait_until

LAB = DEPLOY / "lab.sh"
NODES = ["sn1", "sn2", "sn3"]
PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch"]

CONF = """
ClusterName=lon
SlurmctldHost={host}(10.77.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
SlurmUser=root
SlurmdUser=root
MailProg=/bin/true
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=5
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
NodeName=sn[1-3] NodeAddr=10.77.0.[2-4] NodeHostname=sn[1-3] CPUs=1 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def needs_slurm(test):
    """Skips a test, saying why, where no cluster can be made."""
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    why = f"no {', '.join(missing)} here: run deploy/tests/run.sh as root" if missing else "needs root"
    return unittest.skipIf(missing or os.geteuid() != 0, why)(test)


class Cluster:
    """Three nodes and a controller, whose host is where jobs are submitted."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lon-slurm-"))
        self.lab = f"slurm{os.getpid()}"
        self.conf = self.folder / "slurm.conf"
        for name in ["munge", "state", *(f"spool-{node}" for node in NODES)]:
            (self.folder / name).mkdir(mode=0o755)
        os.chmod(self.folder, 0o755)
        self.conf.write_text(CONF.format(host=os.uname().nodename, folder=self.folder))
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        run(LAB, "up", self.lab, "--nodes", len(NODES), "--owner", os.getpid())
        names = "".join(f"10.77.0.{number} {name}\n" for number, name in enumerate(["ctl", *NODES], 1))
        for host in range(len(NODES) + 1):
            etc = Path("/etc/netns") / self.namespace(host)
            etc.mkdir(parents=True)
            (etc / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
        self.start_daemons()

    def namespace(self, host):
        return f"lon-lab-{self.lab}-h{host}"

    def start_daemons(self):
        key = self.folder / "munge/key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        files = [f"--{name}={self.folder}/munge/{name}" for name in ["socket", "pid-file", "log-file", "seed-file"]]
        run("munged", "--force", f"--key-file={key}", *files)
        self.inside(0, "slurmctld", "-f", self.conf)
        for host, node in enumerate(NODES, 1):
            # Slurm's own words for a node, such as %N, are the host's name.
            named = f"hostname {node}; exec slurmd -f {self.conf} -N {node}"
            self.inside(host, "unshare", "--uts", "sh", "-c", named)
        idle = lambda: len(self.inside(0, "sinfo", "--noheader", "--states=idle", "--format=%n", check=False).split())
        wait_until("the nodes of Slurm", lambda: idle() == len(NODES), timeout=60)

    def words(self, host, *command):
        return ["ip", "netns", "exec", self.namespace(host), *map(str, command)]

    def inside(self, host, *command, check=True):
        """Runs a command in a host. Returns its output."""
        env = environment(SLURM_CONF=str(self.conf))
        return run(*self.words(host, *command), env=env, check=check, stderr=subprocess.DEVNULL).stdout

    def submit(self, script, *arguments, log, nodes, cwd, **variables):
        """Submits a job. The process that waits for its end has the job's exit code."""
        env = environment(SLURM_CONF=str(self.conf), LON_BIN=str(BINARIES), **variables)
        flags = [f"--nodes={nodes}"] if nodes else []
        command = ["sbatch", "--wait", *flags, f"--output={log}", script, *arguments]
        words = self.words(0, *command)
        return subprocess.Popen(words, env=env, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def jobs(self):
        """Jobs that go on."""
        return self.inside(0, "squeue", "--noheader", "--format=%i").split()

    def remove(self):
        run(LAB, "down", self.lab)
        pid = self.folder / "munge/pid-file"
        os.kill(int(pid.read_text()), signal.SIGTERM)
        for host in range(len(NODES) + 1):
            shutil.rmtree(Path("/etc/netns") / self.namespace(host))
        shutil.rmtree(self.folder, ignore_errors=True)
