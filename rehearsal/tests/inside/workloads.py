"""Kubernetes objects of a small training and inference stack, as the tests' own program would make them."""

from typing import Any

from rehearsal.toolchain import versions

Object = dict[str, Any]
TOLERATES_GPU = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
TRAINING_OPERATOR = f"v{versions.TRAINING_OPERATOR}"
KUBECTL = f"registry.k8s.io/kubectl:v{versions.KUBERNETES}"
CRD_URL = (
    f"https://raw.githubusercontent.com/kubeflow/training-operator/{TRAINING_OPERATOR}/manifests/base/crds/"
    "kubeflow.org_pytorchjobs.yaml"
)


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def account(name: str, where: str) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": where}}


def admin(name: str, where: str) -> Object:
    """Everything for a service account: these tests are not about RBAC."""
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{where}-{name}"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": where}],
    }


def job(name: str, where: str, pod: Object, retries: int = 0) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": where},
        "spec": {"backoffLimit": retries, "template": {"spec": {"restartPolicy": "Never", **pod}}},
    }


def pod(name: str, where: str, spec: Object) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": where}, "spec": spec}


def container(image: str, **more: Any) -> Object:
    return {"name": more.pop("name", "main"), "image": image, **more}


def crd_job(url: str = CRD_URL, name: str = "crds") -> Object:
    args = ["kubectl", "apply", "--server-side", "-f", url]
    spec = {
        "serviceAccountName": "installer",
        "containers": [container(KUBECTL, command=args, terminationMessagePolicy="FallbackToLogsOnError")],
    }
    return job(name, "kubeflow", spec)


def training_operator() -> list[Object]:
    where, labels = "kubeflow", {"control-plane": "kubeflow-training-operator"}
    main = {
        "name": "training-operator",
        "image": f"ghcr.io/kubeflow/training-v1/training-operator:{TRAINING_OPERATOR}",
        "command": ["/manager"],
        "args": ["--gang-scheduler-name=volcano", "--enable-scheme=pytorchjob"],
        "env": [{"name": "MY_POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
        "ports": [{"containerPort": 8080}, {"containerPort": 9443, "name": "webhook-server"}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8081}, "initialDelaySeconds": 15},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8081}, "initialDelaySeconds": 10},
        "volumeMounts": [{"name": "cert", "mountPath": "/tmp/k8s-webhook-server/serving-certs", "readOnly": True}],
    }
    spec = {
        "serviceAccountName": "training-operator",
        "containers": [main],
        "volumes": [{"name": "cert", "secret": {"secretName": "training-operator-webhook-cert"}}],
    }
    webhook = {
        "name": "validator.pytorchjob.training-operator.kubeflow.org",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "rules": [
            {
                "apiGroups": ["kubeflow.org"],
                "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE"],
                "resources": ["pytorchjobs"],
            }
        ],
        "clientConfig": {
            "service": {"name": "training-operator", "namespace": where, "path": "/validate-kubeflow-org-v1-pytorchjob"}
        },
    }
    return [
        account("training-operator", where),
        admin("training-operator", where),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "training-operator-webhook-cert", "namespace": where},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "training-operator", "namespace": where},
            "spec": {"selector": labels, "ports": [{"name": "webhook", "port": 443, "targetPort": 9443}]},
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "validator.training-operator.kubeflow.org"},
            "webhooks": [webhook],
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "training-operator", "namespace": where},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        },
    ]


def pytorch_job(name: str, where: str, workers: int, tolerations: list[Object] | None = None) -> Object:
    devices = {"nvidia.com/gpu": "1", "vpc.amazonaws.com/efa": "1"}
    main = {
        "name": "pytorch",
        "image": "nvcr.io/nvidia/pytorch:26.03-py3",
        "command": ["torchrun", "train.py"],
        "resources": {"limits": devices, "requests": devices},
    }
    spec = {"containers": [main], "tolerations": TOLERATES_GPU if tolerations is None else tolerations}
    worker = {"replicas": workers, "restartPolicy": "OnFailure", "template": {"spec": spec}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": where},
        "spec": {"pytorchReplicaSpecs": {"Worker": worker}, "nprocPerNode": "1"},
    }


def static_volume(name: str, where: str, system: Object, driver: str = "fsx.csi.aws.com") -> list[Object]:
    """A PersistentVolume of a file system (as DescribeFileSystems gives it) and a claim on it."""
    attributes = {"dnsname": system["DNSName"], "mountname": system["LustreConfiguration"]["MountName"]}
    shared = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                **shared,
                "capacity": {"storage": "1200Gi"},
                "csi": {"driver": driver, "volumeHandle": system["FileSystemId"], "volumeAttributes": attributes},
                "claimRef": {"namespace": where, "name": name},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": where},
            "spec": {**shared, "resources": {"requests": {"storage": "1200Gi"}}, "volumeName": name},
        },
    ]


def weights_job(name: str, where: str, uri: str, claim: str) -> Object:
    main = container(
        "public.ecr.aws/aws-cli/aws-cli:2.31.0",
        args=["s3", "sync", uri, "/models/llama"],
        terminationMessagePolicy="FallbackToLogsOnError",
        volumeMounts=[{"name": "models", "mountPath": "/models"}],
    )
    volumes = [{"name": "models", "persistentVolumeClaim": {"claimName": claim}}]
    return job(name, where, {"serviceAccountName": "weights", "containers": [main], "volumes": volumes})


def server(name: str, where: str, claim: str, tensor_parallel: int = 1, probe_port: int = 8000) -> list[Object]:
    """A vLLM Deployment and its Service."""
    labels = {"app": name}
    main = {
        "name": "vllm",
        "image": "docker.io/vllm/vllm-openai:v0.29.0",
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "args": ["--model", "/models/llama", "--tensor-parallel-size", str(tensor_parallel), "--port", "8000"],
        "ports": [{"name": "http", "containerPort": 8000}],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
        "startupProbe": {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": 10, "failureThreshold": 60},
        "readinessProbe": {"httpGet": {"path": "/health", "port": probe_port}},
        "volumeMounts": [{"name": "models", "mountPath": "/models", "readOnly": True}],
    }
    spec = {
        "containers": [main],
        "tolerations": TOLERATES_GPU,
        "volumes": [{"name": "models", "persistentVolumeClaim": {"claimName": claim}}],
    }
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": where},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": where},
            "spec": {"selector": labels, "ports": [{"name": "http", "port": 80, "targetPort": 8000}]},
        },
    ]
