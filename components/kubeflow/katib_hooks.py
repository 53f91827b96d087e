"""Katib's webhooks: they default and validate Experiments, and add the metrics collector to trials.

The vendor's last one is asked of every pod in each namespace that is labelled for it, and where it does not answer no
pod is made there: a controller that is down would keep planned runs from starting. Here it is asked there of trials'
pods, which their template labels, and of no others.
"""

import pulumi
import pulumi_kubernetes as k8s

from components.kubeflow.katib_config import CERTIFICATE, SERVICE
from components.kubeflow.katib_crds import GROUP, VERSION
from components.platform.hooks import asked

WEBHOOK = "katib.kubeflow.org"
EXPERIMENT_KEY = "gpucluster/experiment"
"""Label of trials' pods: the name of their experiment."""
TAKES_EXPERIMENTS = {"katib.kubeflow.org/metrics-collector-injection": "enabled"}
"""Label of a namespace whose Experiments and trials its webhooks take (pkg/webhook/v1beta1/experiment)."""


def validating(namespace: pulumi.Input[str]) -> k8s.admissionregistration.v1.ValidatingWebhookConfigurationInitArgs:
    """Who judges Experiments."""
    hook = k8s.admissionregistration.v1
    return hook.ValidatingWebhookConfigurationInitArgs(
        metadata=_metadata(namespace),
        webhooks=[
            hook.ValidatingWebhookArgs(
                name=f"validator.experiment.{WEBHOOK}",
                **asked(SERVICE, namespace, "/validate-experiment"),
                rules=[_experiments()],
            )
        ],
    )


def mutating(namespace: pulumi.Input[str]) -> k8s.admissionregistration.v1.MutatingWebhookConfigurationInitArgs:
    """Who fills in Experiments, and pods of trials."""
    hook, meta = k8s.admissionregistration.v1, k8s.meta.v1
    return hook.MutatingWebhookConfigurationInitArgs(
        metadata=_metadata(namespace),
        webhooks=[
            hook.MutatingWebhookArgs(
                name=f"defaulter.experiment.{WEBHOOK}",
                **asked(SERVICE, namespace, "/mutate-experiment"),
                rules=[_experiments()],
            ),
            hook.MutatingWebhookArgs(
                name=f"mutator.pod.{WEBHOOK}",
                **asked(SERVICE, namespace, "/mutate-pod"),
                namespace_selector=meta.LabelSelectorArgs(match_labels=TAKES_EXPERIMENTS),
                object_selector=meta.LabelSelectorArgs(
                    match_expressions=[meta.LabelSelectorRequirementArgs(key=EXPERIMENT_KEY, operator="Exists")]
                ),
                rules=[
                    hook.RuleWithOperationsArgs(
                        api_groups=[""], api_versions=["v1"], operations=["CREATE"], resources=["pods"]
                    )
                ],
            ),
        ],
    )


def _metadata(namespace: pulumi.Input[str]) -> k8s.meta.v1.ObjectMetaArgs:
    """Where cert-manager's injector finds the authority (its documentation, CA Injector); `up` waits for it."""
    annotations: dict[str, pulumi.Input[str]] = {
        "cert-manager.io/inject-ca-from": pulumi.Output.concat(namespace, "/", CERTIFICATE),
        "pulumi.com/waitFor": "jsonpath={.webhooks[0].clientConfig.caBundle}",
    }
    return k8s.meta.v1.ObjectMetaArgs(name=WEBHOOK, annotations=annotations)


def _experiments() -> k8s.admissionregistration.v1.RuleWithOperationsArgs:
    return k8s.admissionregistration.v1.RuleWithOperationsArgs(
        api_groups=[GROUP], api_versions=[VERSION], operations=["CREATE", "UPDATE"], resources=["experiments"]
    )
