"""The stacks of deploy/swarm on a Docker Swarm of this one machine: nodes that the scheduler starts, a run as a job."""

import unittest
from pathlib import Path

from cluster import DEPLOY, TAG, RunFolder, environment, needs_engine, run, wait_until

SWARM = DEPLOY / "swarm"


def state():
    """The state of this engine in a swarm: inactive unless somebody has made one."""
    return run("docker", "info", "--format", "{{.Swarm.LocalNodeState}}").stdout.strip()


def deploy(stack, *flags, **variables):
    """Deploys a stack; its file has the name of the stack."""
    variables = environment(LON_TAG=TAG, **variables)
    return run("docker", "stack", "deploy", *flags, "--compose-file", SWARM / f"{stack}.yaml", stack, env=variables)


def tasks(service):
    """The states of the tasks of a service, and the errors of those that failed."""
    form = "{{.CurrentState}} {{.Error}}"
    return run("docker", "service", "ps", "--no-trunc", "--format", form, service).stdout.strip().splitlines()


def run_folder():
    """The folder of the one run in the volume of the job."""
    place = run("docker", "volume", "inspect", "--format", "{{.Mountpoint}}", "loadgen_results").stdout.strip()
    [folder] = [folder for folder in Path(place).iterdir() if folder.is_dir()]
    return RunFolder(folder)


@needs_engine
class Swarm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if state() != "inactive":
            raise unittest.SkipTest("this engine is part of a swarm already")
        cls.addClassCleanup(run, "docker", "swarm", "leave", "--force")
        run("docker", "swarm", "init", "--advertise-addr", "127.0.0.1")
        run("docker", "network", "create", "--driver", "overlay", "lon")
        # Tasks that end keep it for a moment.
        remove = ["docker", "network", "rm", "lon"]
        cls.addClassCleanup(wait_until, "the network to be free", lambda: run(*remove, check=False).returncode == 0)

    def tearDown(self):
        run("docker", "stack", "rm", "loadgen", "sut", check=False)
        # A swarm leaves the container of a job that has ended.
        of_job = ["--filter", "label=com.docker.stack.namespace=loadgen"]
        for container in run("docker", "ps", "--all", "--quiet", *of_job).stdout.split():
            run("docker", "rm", "--force", container)
        run("docker", "volume", "rm", "--force", "loadgen_results")

    def run_once(self, **variables):
        """Makes a run as a job, and returns the state in which it ended."""
        deploy("loadgen", **variables)

        def ended():
            states = tasks("loadgen_run")
            return states and states[0].startswith(("Complete", "Failed")) and states[0]

        return wait_until("the run to end", ended)

    def test_a_run_is_a_job_over_nodes_that_the_scheduler_starts(self):
        deploy("sut", "--detach=false", LON_SUT_COUNT="3")
        self.assertEqual([task.split()[0] for task in tasks("sut_node")], ["Running"] * 3)
        few = {"LON_SCENARIO": "Offline", "LON_SET": "min_duration=0,min_query_count=1,target_qps=1"}
        state = self.run_once(LON_MODE="AccuracyOnly", **few)
        self.assertTrue(state.startswith("Complete"), state + run("docker", "service", "logs", "loadgen_run").stdout)
        folder = run_folder()
        folder.check_complete(self)
        self.assertEqual(sorted(folder.names()), ["sut-1", "sut-2", "sut-3"])
        self.assertEqual(folder.result["counts"]["completed"], 450)

    def test_the_exit_code_of_the_run_is_in_the_state_of_its_task(self):
        deploy("sut", "--detach=false", LON_SUT_COUNT="1", LON_BACKEND="synthetic:constant=50ms")
        impossible = "min_duration=0,min_query_count=100,target_qps=1000,target_latency=1"
        state = self.run_once(LON_MODE="PerformanceOnly", LON_SET=impossible)
        self.assertTrue(state.startswith("Failed") and "non-zero exit (3)" in state, state)


class Files(unittest.TestCase):
    def test_variables_are_those_of_the_programs(self):
        for stack, program in [("sut", "sut"), ("loadgen", "loadgen")]:
            known = (DEPLOY / f"{program}.env").read_text()
            for line in (SWARM / f"{stack}.yaml").read_text().splitlines():
                name = line.strip().partition(":")[0]
                if name.startswith("LON_"):
                    self.assertIn(f"\n{name}", known, f"{stack}.yaml: {name}")


if __name__ == "__main__":
    unittest.main()
