"""Namespaces whose pods may pin memory for the fabric's devices, and are held to the level baseline in all else (Y15).

Pod Security has no level that adds one capability: such a namespace is `privileged` to it, and this policy is what
refuses. Sources: Kubernetes documentation, "Pod Security Standards" (Baseline) and "Validating Admission Policy".
"""

from collections.abc import Mapping

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

LABEL, LEVEL = "gpucluster/pod-security", "baseline-and-ipc-lock"
POLICY = "gpucluster-baseline-and-ipc-lock"
CAPABILITIES = (
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "IPC_LOCK", "KILL", "MKNOD"),
    *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
)
_SYSCTLS = (
    *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports"),
    *("net.ipv4.ip_unprivileged_port_start", "net.ipv4.ping_group_range", "net.ipv4.tcp_syncookies"),
    *("net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"),
    "net.ipv4.tcp_keepalive_time",
)
_SELINUX = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")


class PinnedMemory(Component):
    """The policy, in force in every namespace with the label."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        admission, meta = k8s.admissionregistration.v1, k8s.meta.v1.ObjectMetaArgs
        policy = admission.ValidatingAdmissionPolicy(
            self.named("policy"),
            admission.ValidatingAdmissionPolicyInitArgs(
                metadata=meta(name=POLICY),
                spec=admission.ValidatingAdmissionPolicySpecArgs(
                    failure_policy="Fail",
                    match_constraints=admission.MatchResourcesArgs(
                        namespace_selector=k8s.meta.v1.LabelSelectorArgs(match_labels={LABEL: LEVEL}),
                        # What a pod may is fixed when it is made; containers for debugging come later.
                        resource_rules=[
                            admission.NamedRuleWithOperationsArgs(
                                api_groups=[""], api_versions=["v1"], operations=[verb], resources=[resource]
                            )
                            for resource, verb in (("pods", "CREATE"), ("pods/ephemeralcontainers", "UPDATE"))
                        ],
                    ),
                    validations=[
                        admission.ValidationArgs(expression=expression, message=message)
                        for message, expression in RULES.items()
                    ],
                ),
            ),
            self.child(),
        )
        admission.ValidatingAdmissionPolicyBinding(
            self.named("binding"),
            admission.ValidatingAdmissionPolicyBindingInitArgs(
                metadata=meta(name=POLICY),
                spec=admission.ValidatingAdmissionPolicyBindingSpecArgs(
                    policy_name=policy.metadata.name.apply(str), validation_actions=["Deny"]
                ),
            ),
            self.child(),
        )
        self.register_outputs({"policy": policy.metadata.name})


def _lacks(path: str, holds: str = "") -> str:
    """Nothing at a path of `object`, or what holds there of it, `$`."""
    steps = path.split(".")
    missing = [f"!has({'.'.join(steps[:end])})" for end in range(3 if steps[0] == "object" else 2, len(steps) + 1)]
    return "(" + " || ".join([*missing, *([holds.replace("$", path)] if holds else [])]) + ")"


def _every(of_container: str) -> str:
    """Of each container of a pod, by the name `c`."""
    kinds = ("containers", "initContainers", "ephemeralContainers")
    return " && ".join(f"(!has(object.spec.{kind}) || object.spec.{kind}.all(c, {of_container}))" for kind in kinds)


def _both(path: str, holds: str) -> str:
    """Of a pod's own security context and of each container's."""
    own, each = f"object.spec.securityContext.{path}", f"c.securityContext.{path}"
    return f"{_lacks(own, holds)} && {_every(_lacks(each, holds))}"


RULES: Mapping[str, str] = {
    "a pod here stays off its node's network and processes: remove hostNetwork, hostPID and hostIPC": " && ".join(
        _lacks(f"object.spec.{key}", "$ == false") for key in ("hostNetwork", "hostPID", "hostIPC")
    ),
    "a pod here mounts nothing of its node: remove hostPath volumes": _lacks(
        "object.spec.volumes", "$.all(v, !has(v.hostPath))"
    ),
    "a container here takes no port of its node: remove hostPort": _every(
        _lacks("c.ports", "$.all(p, !has(p.hostPort) || p.hostPort == 0)")
    ),
    "a container here is not privileged: remove privileged and hostProcess": " && ".join(
        (
            _every(_lacks("c.securityContext.privileged", "$ == false")),
            _both("windowsOptions.hostProcess", "$ == false"),
        )
    ),
    "a container here adds IPC_LOCK and what containers have anyway: remove the other capabilities": _every(
        _lacks("c.securityContext.capabilities.add", f"$.all(one, one in {list(CAPABILITIES)})")
    ),
    "a pod here keeps the runtime's profiles and the masks of /proc: remove Unconfined and procMount": (
        " && ".join(
            (
                _both("seccompProfile.type", "$ != 'Unconfined'"),
                _both("appArmorProfile.type", "$ != 'Unconfined'"),
                _every(_lacks("c.securityContext.procMount", "$ == 'Default'")),
            )
        )
    ),
    "a pod here keeps its SELinux labels: remove seLinuxOptions": " && ".join(
        (
            _both("seLinuxOptions.type", f"$ in {list(_SELINUX)}"),
            _both("seLinuxOptions.user", "$ == ''"),
            _both("seLinuxOptions.role", "$ == ''"),
        )
    ),
    "a pod here sets no kernel parameter beyond the safe ones: remove sysctls": _lacks(
        "object.spec.securityContext.sysctls", f"$.all(s, s.name in {list(_SYSCTLS)})"
    ),
}
"""Expressions by the sentence of a refusal."""
