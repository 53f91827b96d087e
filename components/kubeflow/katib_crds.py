"""Katib's three definitions: kinds without a schema, as the vendor has them (manifests/v1beta1/components/crd)."""

from collections.abc import Mapping

import pulumi_kubernetes as k8s

GROUP, VERSION = "kubeflow.org", "v1beta1"
_CONDITION = {"Type": "type", "Status": "status"}
_COUNTS: Mapping[str, Mapping[str, str]] = {
    "suggestions": {"Requested": ".spec.requests", "Assigned": ".status.suggestionCount"}
}


def definition(plural: str) -> k8s.apiextensions.v1.CustomResourceDefinitionInitArgs:
    """The definition of the kind whose objects are called so."""
    api = k8s.apiextensions.v1
    singular = plural.removesuffix("s")
    columns = {title: f".status.conditions[-1:].{key}" for title, key in _CONDITION.items()}
    columns |= _COUNTS.get(plural, {})
    return api.CustomResourceDefinitionInitArgs(
        metadata=k8s.meta.v1.ObjectMetaArgs(name=f"{plural}.{GROUP}"),
        spec=api.CustomResourceDefinitionSpecArgs(
            group=GROUP,
            scope="Namespaced",
            names=api.CustomResourceDefinitionNamesArgs(
                kind=singular.capitalize(),
                singular=singular,
                plural=plural,
                categories=["all", "kubeflow", "katib"],
            ),
            versions=[
                api.CustomResourceDefinitionVersionArgs(
                    name=VERSION,
                    served=True,
                    storage=True,
                    additional_printer_columns=[
                        *(
                            api.CustomResourceColumnDefinitionArgs(name=title, type="string", json_path=path)
                            for title, path in columns.items()
                        ),
                        api.CustomResourceColumnDefinitionArgs(
                            name="Age", type="date", json_path=".metadata.creationTimestamp"
                        ),
                    ],
                    subresources=api.CustomResourceSubresourcesArgs(status={}),
                    schema=api.CustomResourceValidationArgs(
                        open_apiv3_schema=api.JSONSchemaPropsArgs(
                            type="object", x_kubernetes_preserve_unknown_fields=True
                        )
                    ),
                )
            ],
        ),
    )
