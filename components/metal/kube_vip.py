"""The pod that holds the address of the Kubernetes API on one of the control plane's nodes.

Source: kube-vip v1.2.3, pkg/kubevip/config_envvar.go (variables), pkg/kubevip/config_generator.go (the static pod).
"""

import yaml

from components.metal.kubeadm import PORT

ADMIN, FIRST_ADMIN = "/etc/kubernetes/admin.conf", "/etc/kubernetes/super-admin.conf"
"""Credentials of the pod. While the first node is made, admin.conf has no rights yet: those of its group are written
through the very address that the pod is to hold. Source: kubeadm 1.29 changelog, super-admin.conf."""


def manifest(image: str, *, address: str, interface: str | None, first: bool) -> str:
    """The static pod of a node; without an interface it takes that of the default route."""
    values = {
        "vip_arp": "true",
        "port": str(PORT),
        "vip_subnet": "32",
        "dns_mode": "first",
        "cp_enable": "true",
        "cp_namespace": "kube-system",
        "svc_enable": "false",
        "vip_leaderelection": "true",
        "vip_leasename": "plndr-cp-lock",
        "vip_leaseduration": "5",
        "vip_renewdeadline": "3",
        "vip_retryperiod": "1",
        "address": address,
        "prometheus_server": "",
        **({"vip_interface": interface} if interface else {}),
    }
    node = {"name": "vip_nodename", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    container = {
        "name": "kube-vip",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["manager"],
        "env": [*({"name": key, "value": value} for key, value in sorted(values.items())), node],
        "securityContext": {"capabilities": {"add": ["NET_ADMIN", "NET_RAW"], "drop": ["ALL"]}},
        "volumeMounts": [{"mountPath": ADMIN, "name": "kubeconfig", "readOnly": True}],
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "kube-vip", "namespace": "kube-system"},
        "spec": {
            "containers": [container],
            "hostNetwork": True,
            # The address that it holds cannot be what it asks by, before it holds it.
            "hostAliases": [{"ip": "127.0.0.1", "hostnames": ["kubernetes"]}],
            "volumes": [{"name": "kubeconfig", "hostPath": {"path": FIRST_ADMIN if first else ADMIN, "type": "File"}}],
        },
    }
    return yaml.safe_dump(pod, sort_keys=False)
