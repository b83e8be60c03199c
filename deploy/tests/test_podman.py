"""The pods of the Kubernetes manifests under `podman kube play`, on this one host: containers with the volumes, the
settings and the rights of the manifests, and a run from pod to pod.

Podman is no scheduler. It takes pods, configurations and claims; StatefulSets, Jobs and Services stay out. So each
replica becomes a pod of its own here, and the run gets the names of the pods in place of the Service's."""

import shutil
import tempfile
import unittest
from pathlib import Path

import yaml
from cluster import TAG, RunFolder, environment, needs_engine, run, wait_until
from test_kubernetes import one, rendered

NETWORK = "lon-kube"
# The rights and the control groups of this machine may be less than podman asks for.
SETTINGS = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
"""


def pod(name, template):
    """A pod of this name as a StatefulSet or a Job makes it, with the image of the tests."""
    spec = template["spec"]
    [container] = spec["containers"]
    container["image"] = f"localhost/lon:{TAG}"
    # Podman gives each of them to the host, where two pods have the same.
    container.pop("ports", None)
    metadata = {"name": name, "labels": template["metadata"]["labels"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@needs_engine
@unittest.skipUnless(shutil.which("podman") and shutil.which("runc"), "no podman with runc here")
class Pods(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lon-podman-"))
        self.addCleanup(shutil.rmtree, self.folder)
        settings = self.folder / "containers.conf"
        settings.write_text(SETTINGS)
        self.variables = environment(CONTAINERS_CONF=str(settings))
        archive = self.folder / "image.tar"
        run("docker", "save", "--output", archive, f"lon:{TAG}")
        self.podman("load", "--input", archive)
        self.addCleanup(self.podman, "image", "rm", "--force", f"localhost/lon:{TAG}")
        self.podman("network", "create", NETWORK)
        self.addCleanup(self.podman, "network", "rm", NETWORK)

    def podman(self, *words, **options):
        return run("podman", *words, env=self.variables, **options).stdout

    def play(self, name, documents):
        """Starts what the documents describe, until the end of the test."""
        file = self.folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump_all(documents))
        self.addCleanup(self.podman, "kube", "down", file)
        self.podman("kube", "play", "--network", NETWORK, file)

    def test_a_run_goes_from_pod_to_pod(self):
        sut, loadgen = rendered("sut"), rendered("loadgen")
        nodes = one(sut, "StatefulSet")["spec"]
        names = [f"sut-{number}" for number in range(nodes["replicas"])]
        self.assertEqual(len(names), 2)
        for name in names:
            [*_, template] = yaml.safe_load_all(yaml.safe_dump_all([nodes["template"]]))
            self.play(name, [one(sut, "ConfigMap"), pod(name, template)])
        settings = one(loadgen, "ConfigMap", "loadgen-env")
        settings["data"].update(LON_MODE="AccuracyOnly", LON_SCENARIO="Offline")
        job = pod("loadgen", one(loadgen, "Job")["spec"]["template"])
        command = job["spec"]["containers"][0]["command"]
        command[command.index("dns:sut:8000")] = ",".join(f"{name}:8000" for name in names)
        claim, conf = one(loadgen, "PersistentVolumeClaim"), one(loadgen, "ConfigMap", "loadgen-conf")
        for volume in [claim, conf]:
            self.addCleanup(self.podman, "volume", "rm", "--force", volume["metadata"]["name"])
        self.play("loadgen", [settings, conf, claim, job])
        container = "loadgen-loadgen-node"
        state = "{{.State.Status}} {{.State.ExitCode}}"

        def inspected():
            return self.podman("inspect", "--format", state, container).strip()

        wait_until("the run to end", lambda: inspected().startswith("exited"))
        self.assertEqual(inspected(), "exited 0", self.podman("logs", container))
        place = self.podman("volume", "inspect", "--format", "{{.Mountpoint}}", claim["metadata"]["name"]).strip()
        [folder] = [folder for folder in Path(place).iterdir() if folder.is_dir()]
        folder = RunFolder(folder)
        folder.check_complete(self)
        self.assertEqual(sorted(folder.names()), names)
        self.assertEqual(folder.result["counts"]["completed"], 450)


if __name__ == "__main__":
    unittest.main()
