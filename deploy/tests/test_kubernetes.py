"""The Kubernetes manifests: rendered by kustomize, held against the published schemas, their commands run."""

import json
import os
import tempfile
import unittest
from pathlib import Path

import kubernetes_validate
import yaml
from cluster import BINARIES, DEPLOY, TAG, Folder, RunFolder, needs_engine, run, wait_until

# From the oldest release that is still looked after to the newest that the package knows.
VERSIONS = ["1.30", "1.33", "1.37"]


def rendered(folder):
    text = run("kubectl", "kustomize", DEPLOY / "kubernetes" / folder, stderr=None).stdout
    return list(yaml.safe_load_all(text))


CAMPAIGN = """
out = "out"
[run]
benchmark = "digits"
scenario = "Offline"
settings = { target_qps = 100, min_duration = "0" }
[node]
backend = "synthetic:constant=1ms"
[axes]
transport = ["grpc", "tcp"]
"""


def campaign_job(folder):
    """The Indexed Job of a campaign in a folder."""
    file = Path(folder, "codecs.toml")
    file.write_text(CAMPAIGN)
    return yaml.safe_load(run(BINARIES / "loadgen-node", "campaign", "render", file, "--for", "kubernetes").stdout)


def one(manifests, kind, name=None):
    [found] = [
        manifest
        for manifest in manifests
        if manifest["kind"] == kind and (name is None or manifest["metadata"]["name"].startswith(name))
    ]
    return found


class Manifests(unittest.TestCase):
    def setUp(self):
        self.sut, self.loadgen = rendered("sut"), rendered("loadgen")

    def test_schemas(self):
        for version in VERSIONS:
            for manifest in [*self.sut, *self.loadgen]:
                with self.subTest(version=version, kind=manifest["kind"]):
                    kubernetes_validate.validate(manifest, version, strict=True)

    def test_a_campaign_is_an_indexed_job(self):
        with tempfile.TemporaryDirectory() as folder:
            job = campaign_job(folder)
        for version in VERSIONS:
            kubernetes_validate.validate(job, version, strict=True)
        self.assertEqual((job["spec"]["completionMode"], job["spec"]["completions"]), ("Indexed", 2))

    def test_a_wrong_key_would_be_noticed(self):
        manifest = one(self.sut, "StatefulSet")
        manifest["spec"]["replica"] = 4
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(manifest, VERSIONS[-1], strict=True)

    def test_names_find_each_other(self):
        service, nodes, job = one(self.sut, "Service"), one(self.sut, "StatefulSet"), one(self.loadgen, "Job")
        pod = nodes["spec"]["template"]
        self.assertEqual(service["spec"]["clusterIP"], "None")
        self.assertEqual(nodes["spec"]["serviceName"], service["metadata"]["name"])
        self.assertLessEqual(service["spec"]["selector"].items(), pod["metadata"]["labels"].items())
        [container] = job["spec"]["template"]["spec"]["containers"]
        self.assertIn(f"dns:{service['metadata']['name']}:8000", container["command"])
        policy = one(self.sut, "NetworkPolicy")["spec"]
        self.assertLessEqual(policy["podSelector"]["matchLabels"].items(), pod["metadata"]["labels"].items())
        [peer] = policy["ingress"][0]["from"]
        labels = job["spec"]["template"]["metadata"]["labels"]
        self.assertLessEqual(peer["podSelector"]["matchLabels"].items(), labels.items())
        kind = "persistentVolumeClaim"
        claims = [volume[kind]["claimName"] for volume in volumes(job) if kind in volume]
        self.assertEqual(claims, [one(self.loadgen, "PersistentVolumeClaim")["metadata"]["name"]])

    def test_every_node_has_a_host_of_its_own(self):
        for workload in [one(self.sut, "StatefulSet"), one(self.loadgen, "Job")]:
            pod = workload["spec"]["template"]
            affinity = pod["spec"]["affinity"]["podAntiAffinity"]
            [term] = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
            self.assertEqual(term["topologyKey"], "kubernetes.io/hostname")
            self.assertLessEqual(term["labelSelector"]["matchLabels"].items(), pod["metadata"]["labels"].items())

    def test_nobody_has_more_than_it_needs(self):
        for workload in [one(self.sut, "StatefulSet"), one(self.loadgen, "Job")]:
            pod = workload["spec"]["template"]["spec"]
            self.assertFalse(pod["automountServiceAccountToken"])
            self.assertTrue(pod["securityContext"]["runAsNonRoot"])
            [container] = pod["containers"]
            self.assertFalse(container["securityContext"]["allowPrivilegeEscalation"])
            self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])
            self.assertEqual(container["securityContext"]["capabilities"], {"drop": ["ALL"]})
            self.assertIn("memory", container["resources"]["limits"])


def volumes(workload):
    return workload["spec"]["template"]["spec"]["volumes"]


@needs_engine
class Commands(unittest.TestCase):
    """The work of the pods, run by the Docker engine: commands, variables, files and users as in the manifests."""

    def setUp(self):
        self.name = f"lontest{os.getpid()}k8s"
        self.folder = Folder()
        run("docker", "network", "create", "--internal", self.name)

    def tearDown(self):
        containers = run("docker", "ps", "--all", "--quiet", "--filter", f"label={self.name}").stdout.split()
        run("docker", "rm", "--force", *containers, check=bool(containers))
        run("docker", "network", "rm", self.name)
        self.folder.remove()

    def start(self, manifests, workload, *options):
        pod = workload["spec"]["template"]["spec"]
        [container] = pod["containers"]
        user = pod["securityContext"]
        variables = []
        for source in container["envFrom"]:
            # Kustomize has put the very name of the generated map here.
            data = one(manifests, "ConfigMap", source["configMapRef"]["name"])["data"]
            variables += [word for key, value in data.items() for word in ("--env", f"{key}={value}")]
        isolated = ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only"]
        identity = ["--user", f"{user['runAsUser']}:{user['runAsGroup']}", "--label", self.name, "--network", self.name]
        image = container["image"].replace(":latest", f":{TAG}")
        command = [image, *container["command"]]
        started = run("docker", "run", "--detach", *isolated, *identity, *variables, *options, *command)
        return started.stdout.split()[-1]

    def test_the_cells_of_a_campaign(self):
        os.chmod(self.folder.path, 0o755)
        job = campaign_job(self.folder.path)
        pod = job["spec"]["template"]["spec"]
        uid = pod["securityContext"]["runAsUser"]
        run("chown", "-R", uid, self.folder.path)
        [container] = pod["containers"]
        for index in range(job["spec"]["completions"]):
            command = [word.replace("$(CELL)", str(index)) for word in container["command"]]
            isolated = ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--label", self.name]
            mount = ["--volume", f"{self.folder.path}:/campaign", "--user", uid]
            run("docker", "run", "--rm", *isolated, *mount, f"{container['image']}:{TAG}", *command)
        table = run(BINARIES / "loadgen-node", "campaign", "table", self.folder.path / "codecs.toml", "--json").stdout
        self.assertEqual([row["verdict"] for row in json.loads(table)["rows"]], ["VALID", "VALID"])

    def test_a_run(self):
        sut, loadgen = rendered("sut"), rendered("loadgen")
        nodes, job = one(sut, "StatefulSet"), one(loadgen, "Job")
        alias = nodes["spec"]["serviceName"]
        pods = [
            self.start(sut, nodes, "--network-alias", alias, "--hostname", f"sut-{ordinal}")
            for ordinal in range(nodes["spec"]["replicas"])
        ]
        [container] = nodes["spec"]["template"]["spec"]["containers"]
        for probe in ["startupProbe", "readinessProbe", "livenessProbe"]:
            command = container[probe]["exec"]["command"]
            for pod in pods:
                wait_until(probe, lambda: run("docker", "exec", pod, *command, check=False).returncode == 0)

        uid = job["spec"]["template"]["spec"]["securityContext"]["fsGroup"]
        results, conf = self.folder.path / "results", self.folder.path / "conf"
        for path in [results, conf]:
            path.mkdir()
            os.chown(path, uid, uid)
        for name, text in one(loadgen, "ConfigMap", "loadgen-conf")["data"].items():
            Path(conf, name).write_text(text)
        # On a busy machine it may be late: what is tried here is what the pods are told, not their speed.
        patience = ["--env", "LON_MAX_LAG=60s", "--env", "LON_SET=target_latency=60000,min_duration=10000"]
        mounts = ["--volume", f"{results}:/results", "--volume", f"{conf}:/conf:ro"]
        pod = self.start(loadgen, job, *mounts, *patience)
        code = int(run("docker", "wait", pod, timeout=90).stdout)
        self.assertEqual(code, 0, run("docker", "logs", pod).stdout)
        [left] = results.iterdir()
        folder = RunFolder(left)
        folder.check_complete(self)
        self.assertEqual(folder.result["sut_name"], "Network SUT: sut-0, sut-1")
        self.assertEqual(folder.result["settings"]["server_target_qps"], 100)
