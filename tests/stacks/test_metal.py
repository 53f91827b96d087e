"""How machines of an inventory become a cluster: what each is told, in which order, and what no log may show."""

import base64
import json
import re
import shlex
import subprocess
from copy import deepcopy
from functools import cache
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalogue.images import pinned
from catalogue.metal_versions import METAL_CHARTS, RELEASES
from catalogue.versions import PYTHON_IMAGE
from components.metal.bundle import bundle, header
from components.metal.secrets import certificate_key, encryption_key, join_token
from planner.metal_types import MetalPlan
from planner.plan import plan
from planner.site import SitePlan
from policy.gangs import quantity
from policy.graph import Resource
from policy.pods import pods as pods_in
from rehearsal.charts.values import not_in
from settings.load import from_file
from tests.graph.harness import Recorded
from tests.graph.schema_kubernetes import problems
from tests.graph.stackfiles import ROOT, graph_of, run_program, stack_config
from tests.graph.test_charts import vendor_values
from tests.stacks.connections import End, Network
from tests.stacks.test_order import after

KEY = "clusterKey-secret-for-tests-long-enough"
VARIABLE = re.compile(r"^GPUCLUSTER_([A-Z_]+)=", re.MULTILINE)


def metal() -> Recorded:
    return graph_of("metal")


@cache
def planned() -> MetalPlan:
    found = plan(from_file(ROOT / "Pulumi.metal.yaml"))
    assert isinstance(found, MetalPlan)
    return found


def site() -> SitePlan:
    """The machines of the plan."""
    found = planned().site
    assert found is not None
    return found


def changed(**inventory: Any) -> Recorded:
    """The stack on metal with parts of its inventory replaced."""
    config = deepcopy(stack_config("metal"))
    config["gpucluster:inventory"] |= inventory
    return run_program(config, stack="metal")


def machines(graph: Recorded) -> dict[str, Resource]:
    """The commands that prepare machines, by the machine's name."""
    found = {each.name.removesuffix("-prepared"): each for each in graph.of_type("Command") if "stdin" in each.inputs}
    return {re.sub(r"^(pool-[a-z]+|host|ceph-servers)-", "", name): each for name, each in found.items()}


def told(host: str, graph: Recorded | None = None) -> dict[str, str]:
    """The variables of a machine, as bash reads them."""
    text = machines(graph or metal())[host].inputs["stdin"]
    head = text[: text.index("# shellcheck shell=bash")]
    names = VARIABLE.findall(head)
    shown = "".join(f'printf "%s\\0" "$GPUCLUSTER_{name}"\n' for name in names)
    done = subprocess.run(["bash", "-s"], input=head + shown, capture_output=True, text=True, check=True, timeout=20)
    return dict(zip(names, done.stdout.split("\0"), strict=False))


def concerns(host: str) -> list[str]:
    return concerns_of(host, metal())


def concerns_of(host: str, graph: Recorded) -> list[str]:
    return str(machines(graph)[host].inputs["stdin"]).rstrip().rpartition("\n")[2].split()[1:]


def files(host: str) -> dict[str, str]:
    """Files that a machine is given, by path. Their modes are for root alone."""
    lines = [line.split() for line in told(host)["CONTROL_PLANE_FILES"].splitlines()]
    assert {mode for mode, _, _ in lines} == {"600"}
    return {path: base64.b64decode(content).decode() for _, path, content in lines}


def configuration(host: str, kind: str) -> dict[str, Any]:
    """A document of what kubeadm is told on a machine."""
    text = told(host).get("KUBEADM") or told(host)["JOIN"]
    (found,) = (each for each in yaml.safe_load_all(text) if each["kind"] == kind)
    return dict(found)


def test_every_machine_is_prepared_by_one_connection() -> None:
    assert sorted(machines(metal())) == sorted(host.name for host in site().hosts)
    for host in site().hosts:
        connection = machines(metal())[host.name].inputs["connection"]
        assert (connection["host"], connection["hostKey"]) == (host.address, host.host_key)


def test_every_connection_knows_its_machine_by_the_key_of_the_inventory() -> None:
    """Those that join, drain and read credentials, too: a machine of another key is another machine."""
    keys = {host.address: host.host_key for host in site().hosts}
    found = [each.inputs["connection"] for each in metal().of_type("Command") if "connection" in each.inputs]
    assert len(found) > len(keys)
    assert {(each["host"], each["hostKey"], each["user"], each["port"]) for each in found} == {
        (address, key, "ops", 22) for address, key in keys.items()
    }


def test_every_variable_that_a_concern_reads_is_told() -> None:
    """A variable that a script reads and nobody writes ends the script, or worse, does not."""
    own = {"ACTION", "GENERATION", "STATE", "RUN", "PENDING", "LOG", "LOCK_SECONDS", "NAME"}
    for host in site().hosts:
        scripts = [(ROOT / "node" / "host" / f"{name}.sh").read_text() for name in concerns(host.name)]
        read = {name for text in scripts for name in re.findall(r"\$\{?GPUCLUSTER_([A-Z_]+)|needs ([A-Z_]+)", text)}
        wanted = {one or other for one, other in read} - own
        assert wanted <= told(host.name).keys() | {"CONTROL_PLANE_FILES"}, host.name


def test_no_secret_is_in_a_command_an_output_or_an_environment() -> None:
    """`ps` shows arguments and the provider prints output: what is secret travels on standard input."""
    secrets = [
        KEY,
        certificate_key(KEY),
        encryption_key(KEY),
        *(join_token(KEY, host.name, host.serial) for host in site().hosts),
    ]
    for each in metal().resources.values():
        for name, value in each.inputs.items():
            if name == "stdin" or each.token.startswith("pulumi:providers:"):
                assert each.token != "command:remote:Command" or "stdin" in each.secret
                continue
            assert not [secret for secret in secrets if secret in str(value)], (each.name, name)
    assert not [secret for secret in secrets if secret in str(metal().outputs)]
    assert metal().one("credentials-read").inputs["logging"] == "none"


def test_each_machine_joins_by_a_token_of_its_own() -> None:
    """Derived, so that it is nowhere in clear; and of the serial number: another machine at the address has another."""
    tokens = {
        host: configuration(host, "JoinConfiguration")["discovery"]["tlsBootstrapToken"]
        for host in ("dgx-01", "dgx-02", "cp-2")
    }
    assert len(set(tokens.values())) == 3
    assert all(re.fullmatch(r"[a-z0-9]{6}\.[a-z0-9]{16}", each) for each in tokens.values())
    invited = {line.split()[0]: line.split()[1:] for line in told("cp-1")["INVITATIONS"].splitlines()}
    assert invited["dgx-02"] == [tokens["dgx-02"], "worker", "1661923000402"]
    assert invited["cp-2"] == [tokens["cp-2"], "control-plane", "JQ7K02"]
    assert "cp-1" not in invited
    assert "oss-1" not in invited
    assert join_token(KEY, "dgx-01", "another") != tokens["dgx-01"]


def test_a_node_knows_which_machine_it_is_and_the_control_plane_who_may_leave() -> None:
    (labels,) = (
        each["value"]
        for each in configuration("dgx-02", "JoinConfiguration")["nodeRegistration"]["kubeletExtraArgs"]
        if each["name"] == "node-labels"
    )
    assert "gpucluster/serial=1661923000402" in labels.split(",")
    assert told("cp-1")["LEAVING"] == ""
    gone = changed(allowReset=["1661923000407", "A/OLD-1."])
    assert told("cp-2", gone)["LEAVING"] == "1661923000407 A_OLD-1"


def test_etcd_is_saved_to_the_store_by_a_control_plane_machine() -> None:
    job = metal().one("etcd-snapshots-schedule").inputs
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert (job["metadata"]["namespace"], job["spec"]["schedule"]) == ("kube-system", "0 */6 * * *")
    save, look = pod["initContainers"]
    assert save["image"] == f"registry.k8s.io/etcd:{RELEASES['1.36'].etcd}" == look["image"]
    assert "s3://gpucluster-metal/etcd/$name.db" in pod["containers"][0]["command"][-1]
    (key,) = {each["valueFrom"]["secretKeyRef"]["name"] for each in pod["containers"][0]["env"] if "valueFrom" in each}
    kept = metal().one("object-store-etcd-secret")
    assert kept.inputs["metadata"] == {"name": key, "namespace": "kube-system"}
    assert "stringData" in kept.secret


def test_a_short_cluster_key_is_refused() -> None:
    with pytest.raises(ValueError, match="has 5 characters; take 32 or more"):
        join_token("short", "dgx-01", None)


def test_the_control_plane_is_made_once_and_joined_one_by_one() -> None:
    """etcd takes one new member at a time; workers come when it stands."""
    graph, found = metal(), machines(metal())

    def after(host: str) -> set[str]:
        return {graph.resources[urn].name for urn in found[host].depends_on}

    assert "control-plane" in concerns("cp-1")
    assert after("cp-1") == set()
    assert "host-cp-1-prepared" in after("cp-2")
    assert "host-cp-2-prepared" in after("cp-3")
    assert "host-cp-3-prepared" in after("dgx-05")
    assert after("oss-1") == set()
    for host in ("cp-2", "cp-3", "dgx-01"):
        assert "join" in concerns(host)
        assert "control-plane" not in concerns(host)


def test_kubeadm_is_told_what_is_planned() -> None:
    cluster = configuration("cp-1", "ClusterConfiguration")
    assert cluster["controlPlaneEndpoint"] == "10.20.3.250:6443"
    assert cluster["kubernetesVersion"] == f"v{RELEASES['1.36'].version}"
    assert cluster["networking"] == {
        "podSubnet": "10.244.0.0/16",
        "serviceSubnet": "10.96.0.0/12",
        "dnsDomain": "cluster.local",
    }
    init = configuration("cp-1", "InitConfiguration")
    assert init["bootstrapTokens"][0]["ttl"] == "15m0s"
    assert init["certificateKey"] == configuration("cp-2", "JoinConfiguration")["controlPlane"]["certificateKey"]
    assert "controlPlane" not in configuration("dgx-01", "JoinConfiguration")
    node = configuration("dgx-01", "JoinConfiguration")["nodeRegistration"]
    assert node["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    assert {"name": "node-ip", "value": "10.20.0.21"} in node["kubeletExtraArgs"]


def test_secrets_are_encrypted_in_etcd_and_requests_are_logged() -> None:
    given = files("cp-2")
    (encryption,) = (yaml.safe_load(text) for path, text in given.items() if path.endswith("encryption.yaml"))
    providers = encryption["resources"][0]["providers"]
    assert providers[0]["secretbox"]["keys"][0]["secret"] == encryption_key(KEY)
    assert len(base64.b64decode(encryption_key(KEY))) == 32
    arguments = {
        each["name"]: each["value"] for each in configuration("cp-1", "ClusterConfiguration")["apiServer"]["extraArgs"]
    }
    mounted = {each["mountPath"] for each in configuration("cp-1", "ClusterConfiguration")["apiServer"]["extraVolumes"]}
    assert {arguments["encryption-provider-config"], arguments["audit-policy-file"]} <= mounted & given.keys()
    assert [path for path in files("dgx-01") if "encryption" in path or "manifests" in path] == []


def test_the_address_of_the_api_is_held_before_admin_conf_has_rights() -> None:
    """While the first node is made, only super-admin.conf may do anything (kubeadm 1.29)."""

    def held(host: str) -> dict[str, Any]:
        return dict(yaml.safe_load(files(host)["/etc/kubernetes/manifests/kube-vip.yaml"]))

    volumes = {host: held(host)["spec"]["volumes"][0]["hostPath"]["path"] for host in ("cp-1", "cp-2")}
    assert volumes == {"cp-1": "/etc/kubernetes/super-admin.conf", "cp-2": "/etc/kubernetes/admin.conf"}
    values = {each["name"]: each.get("value") for each in held("cp-1")["spec"]["containers"][0]["env"]}
    assert values["address"] == "10.20.3.250"
    assert values["vip_interface"] == "eno1"


def test_the_control_plane_begins_on_whoever_is_named_first() -> None:
    """The way back where the first machine is lost: another one is written before it, and the new one joins."""
    hosts = deepcopy(stack_config("metal")["gpucluster:inventory"]["hosts"])
    first = next(each for each in hosts if each["name"] == "cp-[1-3]")
    lists = [key for key, value in first.items() if isinstance(value, list) and len(value) == 3]

    def part(places: slice, **own: str) -> dict[str, Any]:
        return {**first, **own, **{key: first[key][places] for key in lists}}

    others = part(slice(1, 3), name="cp-[2-3]", address="10.20.0.[12-13]", bmc="10.20.4.[12-13]", racks="r[2-3]")
    new = part(slice(0, 1), name="cp-1", address="10.20.0.11", bmc="10.20.4.11", racks="r1")
    order = [others, new, *(each for each in hosts if each is not first)]
    graph = changed(hosts=order)
    roles = {host: concerns_of(host, graph)[-2] for host in ("cp-1", "cp-2", "cp-3")}
    assert roles == {"cp-1": "join", "cp-2": "control-plane", "cp-3": "join"}
    assert told("cp-1")["CONTROL_PLANE_PEERS"] == f"{site().endpoint} 10.20.0.12 10.20.0.13"
    assert told("cp-2", graph)["CONTROL_PLANE_PEERS"] == f"{site().endpoint} 10.20.0.13 10.20.0.11"
    assert "CONTROL_PLANE_PEERS" not in told("cp-1", graph)
    assert graph.one("credentials-read").inputs["connection"]["host"] == "10.20.0.12"


def test_the_cluster_is_known_by_a_file_without_credentials() -> None:
    known = yaml.safe_load(files("dgx-01")["/etc/kubernetes/gpucluster/discovery.conf"])
    assert known["clusters"][0]["cluster"]["server"] == "https://10.20.3.250:6443"
    assert known["users"] == []


def test_nothing_is_formatted_or_reset_but_by_its_serial() -> None:
    assert told("dgx-03")["ALLOW_FORMAT"] == "1661923000403"
    assert told("dgx-03")["ALLOW_RESET"] == ""
    hosts = deepcopy(stack_config("metal")["gpucluster:inventory"]["hosts"])
    hosts[1]["allowFormat"] = ["1661923000402"]
    graph = changed(hosts=hosts, allowReset=["1661923000407"])
    assert told("dgx-02", graph)["ALLOW_FORMAT"] == "1661923000402"
    assert told("dgx-03", graph)["ALLOW_FORMAT"] == ""
    assert told("dgx-07", graph)["ALLOW_RESET"] == "1661923000407"


def test_a_kubelet_keeps_what_the_plan_counted_with() -> None:
    """What is reserved, and what is left, is the server."""
    for host, pool in (("dgx-01", "training"), ("cp-1", "system")):
        row = planned().pools[pool]
        patch = yaml.safe_load(told(host)["KUBELET"])
        cpu = int(patch["kubeReserved"]["cpu"].removesuffix("m"))
        assert row.server.cpu.threads * 1000 - cpu == row.allocatable_cpu_millicores
        memory = int(patch["kubeReserved"]["memory"].removesuffix("Mi")) + int(
            patch["evictionHard"]["memory.available"].removesuffix("Mi")
        )
        assert row.server.memory_gib * 1024 * 63 // 64 - memory == row.allocatable_memory_mib
        assert ("topologyManagerPolicy" in patch) == (pool == "training")


def test_pods_of_a_pool_may_have_their_cpus_to_themselves_aa03() -> None:
    """The kubelet reserves what the plan does not count, and no pod of the run is other than Guaranteed."""
    config = deepcopy(stack_config("metal"))
    pools = config["gpucluster:pools"]
    next(each for each in pools if each["name"] == "training")["exclusiveCpus"] = True
    found = run_program(config, stack="metal")
    patch = yaml.safe_load(told("dgx-01", found)["KUBELET"])
    assert (patch["cpuManagerPolicy"], patch["topologyManagerPolicy"]) == ("static", "best-effort")
    before = planned().pools["training"].allocatable_cpu_millicores
    kept = sum(int(patch[key]["cpu"].removesuffix("m")) for key in ("kubeReserved", "systemReserved"))
    threads = planned().pools["training"].server.cpu.threads * 1000
    assert (kept, threads - before) == (5500, 630)
    assert patch["cpuManagerPolicyOptions"] == {"full-pcpus-only": "true"}
    shares = [
        quantity(each["resources"]["limits"]["cpu"])
        for pod in pods_in(found)
        if pod.kind == "PyTorchJob"
        for each in pod.containers
    ]
    assert len(shares) > 2
    assert [each for each in shares if each is None or each % 2] == []
    assert "cpuManagerPolicy" not in yaml.safe_load(told("cp-1", found)["KUBELET"])
    (waiting,) = (each for each in found.of_type("ConfigMap") if each.name == "training-operator-waiting")
    (container,) = yaml.safe_load(waiting.inputs["data"]["initContainer.yaml"])
    assert container["resources"]["limits"] == container["resources"]["requests"]
    pod = found.one("training-operator-deployment").inputs["spec"]["template"]["spec"]
    assert waiting.inputs["metadata"]["name"] in [each.get("configMap", {}).get("name") for each in pod["volumes"]]
    (mount,) = (each for each in pod["containers"][0]["volumeMounts"] if each["name"] == "waiting")
    flag = f"--pytorch-init-container-template-file={mount['mountPath']}/initContainer.yaml"
    assert flag in pod["containers"][0]["args"]


def test_only_a_machine_that_is_said_to_be_drained_takes_another_cpu_policy_aa03() -> None:
    config = deepcopy(stack_config("metal"))
    serial = next(host.serial for host in site().hosts if host.name == "dgx-02")
    config["gpucluster:inventory"]["drained"] = [serial]
    found = run_program(config, stack="metal")
    assert [told(name, found)["DRAINED"] for name in ("dgx-01", "dgx-02", "cp-1")] == ["no", "yes", "no"]


def test_a_changed_machine_is_sent_again_and_the_others_are_not() -> None:
    """32 machines of which one changes: one connection."""
    hosts = deepcopy(stack_config("metal")["gpucluster:inventory"]["hosts"])
    hosts[1]["allowFormat"] = hosts[1]["allowFormat"][:-1]
    before, after = machines(metal()), machines(changed(hosts=hosts))
    assert [name for name in before if before[name].inputs["stdin"] != after[name].inputs["stdin"]] == ["dgx-08"]


def test_a_new_machine_reaches_the_control_plane_and_itself() -> None:
    config = deepcopy(stack_config("metal"))
    config["gpucluster:pools"][1]["count"] = 9
    ninth = {"name": "dgx-09", "pool": "training", "address": "10.20.0.29", "hostKeys": ["ssh-ed25519 " + "B" * 68]}
    config["gpucluster:inventory"]["hosts"].append(ninth)
    before, after = machines(metal()), machines(run_program(config, stack="metal"))
    differing = [
        name for name in after if name not in before or before[name].inputs["stdin"] != after[name].inputs["stdin"]
    ]
    assert sorted(differing) == ["cp-1", "cp-2", "cp-3", "dgx-09"]


def test_pods_see_the_compute_cards_alone() -> None:
    """Matched by vendor, the cards of storage and management would be shared out, too (NW01, NW02, NW05)."""
    policy = metal().one("kube-platform-nic-cluster-policy").inputs
    (shared,) = yaml.safe_load(policy["spec"]["rdmaSharedDevicePlugin"]["config"])["configList"]
    assert shared["selectors"]["deviceIDs"] == ["1021"]
    assert shared["selectors"]["linkTypes"] == ["infiniband"]
    assert "ofedDriver" not in policy["spec"]
    job = (
        metal().one("run-llama-3-70b-pretrain-job").inputs["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    )
    container = job["containers"][0]
    assert container["resources"]["limits"][f"rdma/{shared['resourceName']}"] == "1"
    environment = {each["name"]: each.get("value") for each in container["env"]}
    fabric = planned().fabric
    assert fabric is not None
    assert environment["NCCL_IB_HCA"] == fabric.nccl["NCCL_IB_HCA"]
    assert environment["NCCL_NET"] == "IB"


def test_policies_of_pods_mean_the_nodes_too() -> None:
    """By itself Cilium leaves nodes and API server out of an ipBlock, and every operator would lose the API."""
    values = metal().one("cilium-release").inputs["values"]
    assert values["policyCIDRMatchMode"] == ["nodes"]
    assert values["k8sServiceHost"] == "10.20.3.250"
    assert values["ipam"]["operator"]["clusterPoolIPv4PodCIDRList"] == ["10.244.0.0/16"]


def test_nodes_are_there_after_their_runtime_and_cilium_kj28() -> None:
    graph = metal()
    for pool in ("system", "training"):
        assert graph.one("cilium-release").urn in after(graph, graph.one(f"pool-{pool}-nodes").urn)
    called = machines(graph)["dgx-01"].inputs["stdin"].rstrip().rpartition("\n")[2].split()
    assert called.index("containerd") < called.index("kubelet") < called.index("join")


def test_management_controllers_are_out_of_the_pods_reach() -> None:
    """No rule lets a pod speak with an address of theirs."""
    bmc = IPv4Network("10.20.4.0/22")
    for each in metal().of_type("NetworkPolicy"):
        for rule in each.inputs["spec"].get("egress") or ():
            for peer in rule.get("to") or ():
                block = peer.get("ipBlock")
                if block and IPv4Network(block["cidr"]).overlaps(bmc):
                    assert any(bmc.subnet_of(IPv4Network(cut)) for cut in block.get("except") or ()), each.name


def test_no_policy_lets_a_pod_speak_with_a_management_controller_y14() -> None:
    """A denial that makes no pod speak with less than before; in a cluster whose agents have its definition."""
    denied = metal().one("kube-platform-controllers-denied")
    assert denied.token == "kubernetes:cilium.io/v2:CiliumClusterwideNetworkPolicy"
    assert denied.inputs["metadata"] == {"name": "gpucluster-controllers"}
    assert denied.inputs["spec"] == {
        "endpointSelector": {},
        "egressDeny": [{"toCIDR": [site().bmc_cidr]}],
        "enableDefaultDeny": {"egress": False, "ingress": False},
    }
    assert metal().one("pool-system-nodes").urn in denied.depends_on
    assert not problems(denied)


def test_machines_send_nothing_to_management_controllers() -> None:
    """Servers of the file system neither; the control plane's own machines do, and their pods do not (Y14)."""
    for host in site().hosts:
        assert (told(host.name)["BMC_CIDR"], told(host.name)["BMC_FROM"]) == (
            "10.20.4.0/22",
            "10.244.0.0/16" if host.name.startswith("cp-") else "all",
        )
        assert "bmc-network" in machines(metal())[host.name].inputs["stdin"].rstrip().rsplit("\n", 1)[1].split()


def test_pods_reach_the_api_where_it_is() -> None:
    allowed = [
        (IPv4Network(peer["ipBlock"]["cidr"]), {port["port"] for port in rule.get("ports") or ()})
        for each in metal().of_type("NetworkPolicy")
        if each.inputs["metadata"]["namespace"] == "gpu-operator"
        for rule in each.inputs["spec"].get("egress") or ()
        for peer in rule.get("to") or ()
        if "ipBlock" in peer
    ]
    for address, port in (("10.96.0.1", 443), ("10.20.0.12", 6443)):
        assert [1 for network, ports in allowed if IPv4Address(address) in network and port in ports]


def test_the_store_is_asked_with_a_key_out_of_a_secret() -> None:
    config = deepcopy(stack_config("metal"))
    config["gpucluster:storage"]["objectStoreGbPerS"] = 1.0
    run = config["gpucluster:training"]["runs"][0]
    run["checkpoint"] |= {"objectStoreHours": 8}
    graph = run_program(config, stack="metal")
    (backup,) = (each for each in graph.of_type("CronJob") if "etcd" not in each.name)
    container = backup.inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]
    variables = {each["name"]: each for each in container["env"]}
    assert variables["AWS_ENDPOINT_URL"]["value"] == "https://s3.hall-2.example.com"
    assert variables["AWS_SECRET_ACCESS_KEY"]["valueFrom"]["secretKeyRef"] == {"name": "object-store", "key": "key"}
    kept = {
        each.inputs["metadata"]["namespace"]: each for each in graph.of_type("Secret") if "object-store" in each.name
    }
    assert sorted(kept) == ["inference", "kube-system", "training"]
    assert all("stringData" in each.secret for each in kept.values())
    pair = {name: f"objectStore{name}-secret-for-tests-long-enough" for name in ("KeyId", "Key")}
    both = {"id": pair["KeyId"], "key": pair["Key"]}
    assert [each.inputs["stringData"] for each in kept.values()] == [both] * 3


def test_monitoring_reaches_machines_in_the_network_that_manages_them_alone() -> None:
    network, asks = Network(metal()), End(namespace="monitoring", labels={"app.kubernetes.io/name": "prometheus"})
    assert network.passes(asks, End(address="10.20.0.21"), 9100)
    assert network.passes(asks, End(address="10.20.3.254"), 10250)
    assert not network.passes(asks, End(address="10.20.4.1"), 9100)


def test_a_person_is_told_where_the_site_is_and_how_to_get_in() -> None:
    outputs = metal().outputs
    assert outputs["fabric"] == {"kind": "infiniband", "switches": 12, "management": "10.20.0.0/22"}
    assert outputs["hardware"].items() >= {"machines": 17, "nodes": 11, "gpus": 64}.items()
    assert (
        outputs["storage"].items()
        >= {
            "fileSystem": "10.22.0.11@o2ib:10.22.0.12@o2ib:/shared",
            "bucket": "gpucluster-metal",
            "block": "local-volumes",
        }.items()
    )
    assert outputs["kubePlatform"] == {
        "cluster": "gpucluster-metal",
        "endpoint": "https://10.20.3.250:6443",
        "openTo": ["10.20.0.0/22"],
        "kubernetesVersion": "1.36",
        "kubeconfigCommand": "ssh -p 22 ops@10.20.0.11 sudo cat /etc/kubernetes/admin.conf",
    }


@pytest.mark.parametrize("chart", sorted({*METAL_CHARTS} - {"rook-ceph", "ceph-csi-drivers"}))
def test_the_chart_has_every_key_we_set(chart: str) -> None:
    theirs, commented = vendor_values(chart)
    (release,) = (each for each in metal().of_type("Release") if each.inputs["chart"] == chart)
    assert release.inputs["version"] == METAL_CHARTS[chart].version
    assert list(not_in(theirs, release.inputs.get("values") or {}, commented, "")) == []


def test_a_bundle_is_bash_whatever_its_values_hold() -> None:
    """Quotes, dollars and new lines of a value stay a value."""
    hostile = "a'b\"c$(touch /tmp/x)`d`\n\\e"
    text = header({"SERIAL": hostile}) + 'printf "%s" "$GPUCLUSTER_SERIAL"\n'
    done = subprocess.run(["bash", "-s"], input=text, capture_output=True, text=True, check=True, timeout=20)
    assert done.stdout == hostile
    with pytest.raises(ValueError, match="is not a valid variable of a bundle"):
        header({"a b": "c"})


def test_a_bundle_that_is_cut_off_does_nothing() -> None:
    """The one call is its last line: without it there are functions and variables."""
    whole = bundle({"SERIAL": "x"}, ["checks"])
    cut = whole[: whole.rindex("run_concerns")]
    done = subprocess.run(["bash", "-s"], input=cut, capture_output=True, text=True, check=True, timeout=20)
    assert done.stdout == done.stderr == ""
    assert shlex.split(whole.splitlines()[-1]) == ["run_concerns", "checks"]


def test_late_machines_are_invited_again_and_nodes_are_not(tmp_path: Path) -> None:
    """The timer's program is the concern's own functions: a token in a Secret on standard input, in no argument."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(
        "#!/bin/bash\n"
        f'printf "%s\\n" "$*" >>{tmp_path}/calls\n'
        'case "$*" in *"get nodes"*) echo cp-2 JQ7K02 True ;; *apply*) cat >>' + f"{tmp_path}/applied ;; esac\n"
    )
    kubectl.chmod(0o755)
    invited = tmp_path / "invitations"
    invited.write_text(told("cp-1")["INVITATIONS"])
    script = ROOT / "node" / "host" / "invitations.sh"
    make = f"source {script}; INVITATIONS_LIST={invited}; invitations_program"
    program = subprocess.run(["bash", "-c", make], capture_output=True, text=True, check=True, timeout=20).stdout
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "-s"], input=program, env=path, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ["cp-3 invited", *(f"dgx-{number:02} invited" for number in range(1, 9))]
    applied = (tmp_path / "applied").read_text()
    token = configuration("dgx-04", "JoinConfiguration")["discovery"]["tlsBootstrapToken"]
    assert f'"token-secret": "{token.partition(".")[2]}"' in applied
    assert configuration("cp-2", "JoinConfiguration")["discovery"]["tlsBootstrapToken"].partition(".")[2] not in applied
    assert token.partition(".")[2] not in (tmp_path / "calls").read_text() + done.stdout


def test_nodes_are_counted_by_what_their_device_plugin_offers() -> None:
    """The plugin shares the cards: a node shows as many as pods may hold them, and the count waits for just that."""
    told = json.loads(
        metal().one("kube-platform-nic-cluster-policy").inputs["spec"]["rdmaSharedDevicePlugin"]["config"]
    )
    shares = {f"rdma/{each['resourceName']}": each["rdmaHcaMax"] for each in told["configList"]}
    steps = metal().one("gpu-checks-training-count").inputs["spec"]["template"]["spec"]["containers"]
    counted = next(word for step in steps for word in step["args"] if "rdma" in word)
    assert counted == "--for=jsonpath={.status.allocatable.rdma/compute}=63"
    assert shares == {"rdma/compute": 63}


def test_clients_of_lustre_are_tuned_and_one_machine_lays_out_new_files() -> None:
    """The parameters are those that clients have, in the sizes that servers take (ST08, ST09, G07, G08)."""
    config = deepcopy(stack_config("metal"))
    config["gpucluster:storage"]["lustre"]["stripeCount"] = 4
    graph = run_program(config, stack="metal")
    for host in ("cp-1", "cp-2", "dgx-01"):
        assert "lustre-client" in concerns(host)
        values = dict(each.split("=") for each in told(host, graph)["LUSTRE_PARAMETERS"].split())
        assert int(values["osc.*.max_pages_per_rpc"]) * 4096 == 4 << 20
        assert int(values["llite.*.max_read_ahead_per_file_mb"]) <= int(values["llite.*.max_read_ahead_mb"])
        assert not [name for name in values if "stats" in name]
    assert {host: told(host, graph)["LUSTRE_STRIPES"] for host in ("cp-1", "cp-2", "dgx-01")} == {
        "cp-1": "4",
        "cp-2": "",
        "dgx-01": "",
    }
    assert told("cp-1")["LUSTRE_STRIPES"] == ""
    nfs = changed(sharedFiles={"kind": "nfs", "source": "nfs.example.com:/export"})
    text = str(machines(nfs)["dgx-01"].inputs["stdin"]).rstrip().rpartition("\n")[2]
    assert "lustre-client" not in text.split()


def test_sensors_are_read_by_one_pod_beside_the_control_plane_b19() -> None:
    """Of every controller that has an address, by an account of its own; what they say is scraped and judged."""
    config = deepcopy(stack_config("metal"))
    controllers = config["gpucluster:inventory"]["controllers"]
    controllers["sensors"] = {"user": "reader", "secret": "bmcReader"}
    config["gpucluster:inventory"]["logs"] = {"host": "10.20.0.5"}
    config["gpucluster:monitoring"] = {}
    graph = run_program(config, stack="metal")
    told = json.loads(graph.one("sensors-script").inputs["data"]["controllers.json"])
    assert {each["node"]: each["address"] for each in told} == {
        host.name: host.bmc for host in site().hosts if host.bmc is not None
    }
    assert {each["port"] for each in told} == {443}
    assert graph.one("sensors-script").inputs["data"]["authority.pem"] == controllers["authority"].strip()
    pod = graph.one("sensors-deployment").inputs["spec"]["template"]["spec"]
    assert [each["image"] for each in pod["containers"]] == [pinned(PYTHON_IMAGE)]
    assert (pod["hostNetwork"], list(pod["nodeSelector"])) == (True, ["node-role.kubernetes.io/control-plane"])
    assert "--user=reader" in pod["containers"][0]["command"]
    password = graph.one("sensors-password")
    assert "stringData" in password.secret
    assert "bmcReader" in password.inputs["stringData"]["password"]
    monitor = graph.one("monitors-sensors").inputs["spec"]
    labels = graph.one("sensors-service").inputs["metadata"]["labels"]
    assert monitor["selector"]["matchLabels"].items() <= labels.items()
    recorded = json.dumps(graph.one("rules-recording").inputs)
    assert '"gpucluster:pool:expected_power_supplies"' in recorded
    assert '"gpucluster:pool:inlet_limit_celsius"' in recorded


def test_without_sensors_nobody_in_the_cluster_asks_controllers() -> None:
    assert not [each for each in metal().resources.values() if each.name.startswith("sensors")]
