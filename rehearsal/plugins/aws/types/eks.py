"""EKS. Sources: terraform-provider-aws internal/service/eks, for timeouts, waits and retries as well."""

from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import MINUTE, Autoname, Change, Row, Wait, words
from rehearsal.plugins.aws.tagging import calls
from rehearsal.plugins.aws.updates import HEALTH, run
from rehearsal.plugins.servicer import PluginError

CLUSTER = {"clusterName": "{clusterName}"}
NEW_ROLE = (
    "InvalidParameterException.*(does not exist|Error in role params|Role could not be assumed|"
    "doesn't have the Amazon EKS Managed Policies|IAM role's policy must include)",
)
ENDPOINT = words("endpointPublicAccess endpointPrivateAccess publicAccessCidrs")
PLACE = words("subnetIds securityGroupIds")
GIVEN = words("clusterSecurityGroupId vpcId")  # by EKS, though the SDK takes them


def _cluster_prepare(inputs: dict[str, Any]) -> dict[str, Any]:
    made = dict(inputs)
    types = made.pop("enabledClusterLogTypes", None)
    if types:
        made["logging"] = {"clusterLogging": [{"types": types, "enabled": True}]}
    if "vpcConfig" in made:
        made["vpcConfig"] = {name: value for name, value in made["vpcConfig"].items() if name not in GIVEN}
    return made


def _cluster_after(obj: Object, change: Change) -> None:
    """One update at a time: EKS refuses a second one while the first goes on, and two kinds in one request."""
    if change.first:
        return
    inputs, name = obj.inputs, obj.id
    if change.touches("version") and inputs.get("version"):
        force = {"force": True} if inputs.get("forceUpdateVersion") else {}
        run(obj, "update_cluster_version", name=name, version=inputs["version"], **force)
    if change.touches("accessConfig"):
        mode = {"authenticationMode": inputs["accessConfig"]["authenticationMode"]}
        run(obj, "update_cluster_config", name=name, accessConfig=mode)
    if change.touches("enabledClusterLogTypes"):
        wanted = set(inputs.get("enabledClusterLogTypes") or ())
        dropped = set(change.old.get("enabledClusterLogTypes") or ()) - wanted
        logging = [{"types": sorted(types), "enabled": on} for types, on in ((wanted, True), (dropped, False)) if types]
        run(obj, "update_cluster_config", name=name, logging={"clusterLogging": logging})
    for member in words("upgradePolicy zonalShiftConfig deletionProtection"):
        if change.touches(member) and inputs.get(member) is not None:
            run(obj, "update_cluster_config", name=name, **{member: inputs[member]})
    for part in (ENDPOINT, PLACE):
        before, after = ({each: side.get("vpcConfig", {}).get(each) for each in part} for side in (change.old, inputs))
        if before != after:
            config = {each: value for each, value in after.items() if value is not None}
            run(obj, "update_cluster_config", name=name, resourcesVpcConfig=config)


def _cluster_look(_: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    logging = (found.get("logging") or {}).get("clusterLogging") or []
    config = found.get("encryptionConfig") or []
    return {
        "enabledClusterLogTypes": sorted(kind for each in logging if each["enabled"] for kind in each["types"]),
        "encryptionConfig": config[0] if config else None,
        "vpcConfig": found.get("resourcesVpcConfig"),
        "certificateAuthority": found.get("certificateAuthority"),
    }


def _cluster_replaced(old: Mapping[str, Any], new: Mapping[str, Any]) -> set[str]:
    """Envelope encryption cannot be taken away again."""
    return {"encryptionConfig"} if old.get("encryptionConfig") and not new.get("encryptionConfig") else set()


def _addon_prepare(inputs: dict[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in inputs.items() if not name.startswith("resolveConflicts")}
    chosen = inputs.get("resolveConflictsOnCreate") or inputs.get("resolveConflictsOnUpdate")
    return {**rest, **({"resolveConflicts": chosen} if chosen else {})}


def _addon_after(obj: Object, change: Change) -> None:
    sent = words("addonVersion configurationValues serviceAccountRoleArn podIdentityAssociations")
    if change.first or not change.touches(*sent):
        return
    body = {name: obj.inputs[name] for name in sent if obj.inputs.get(name) is not None and change.touches(name)}
    if change.touches("podIdentityAssociations"):
        body["podIdentityAssociations"] = obj.inputs.get("podIdentityAssociations") or []
    if conflicts := obj.inputs.get("resolveConflictsOnUpdate"):
        body["resolveConflicts"] = conflicts
    run(obj, "update_addon", **obj.keys(), **body)


def _addon_look(obj: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    """An add-on names its associations by ARN; the program by role and service account."""
    associations = []
    for arn in found.get("podIdentityAssociations") or ():
        association = obj.search(
            "describe_pod_identity_association -> association",
            clusterName=found["clusterName"],
            associationId=arn.rpartition("/")[2],
        )
        associations.append({name: association[name] for name in ("roleArn", "serviceAccount")})
    return {"podIdentityAssociations": associations, "arn": found.get("addonArn")}


def _addon_delete(obj: Object) -> None:
    preserve = {"preserve": True} if obj.inputs.get("preserve") else {}
    obj.call("delete_addon", **obj.keys(), **preserve)


def _policies(obj: Object) -> Any:
    arn = obj.fill("{policyArn}")
    named = {"clusterName": obj.fill("{clusterName}"), "principalArn": obj.fill("{principalArn}")}
    found = obj.search("list_associated_access_policies -> associatedAccessPolicies", **named) or []
    match = next((each for each in found if each["policyArn"] == arn), None)
    return {**match, **named} if match else None


def _association_read(obj: Object) -> Any:
    cluster = obj.known.get("clusterName") or obj.inputs.get("clusterName")
    if not cluster:
        raise PluginError(f"cannot tell the cluster of {obj.id}; import it as CLUSTER,ASSOCIATION-ID")
    named = {"clusterName": cluster, "associationId": obj.fill("{associationId}")}
    return obj.search("describe_pod_identity_association -> association", **named)


ROWS: dict[str, Row] = {
    "aws:eks/cluster:Cluster": Row(
        create="create_cluster -> cluster",
        read="describe_cluster -> cluster",
        id="{name}",
        names={"vpcConfig": "resourcesVpcConfig"},
        autoname=Autoname(limit=100),
        prefix="",
        defaults={"bootstrapSelfManagedAddons": True},
        prepare=_cluster_prepare,
        local=("forceUpdateVersion",),
        unseen=("bootstrapSelfManagedAddons",),
        force_new=words(
            "name roleArn bootstrapSelfManagedAddons accessConfig.bootstrapClusterCreatorAdminPermissions "
            "kubernetesNetworkConfig.ipFamily kubernetesNetworkConfig.serviceIpv4Cidr outpostConfig remoteNetworkConfig"
        ),
        also_new=_cluster_replaced,
        computed=words(
            "accessConfig kubernetesNetworkConfig upgradePolicy version deletionProtection computeConfig storageConfig "
            "controlPlaneScalingConfig vpcConfig.clusterSecurityGroupId vpcConfig.vpcId vpcConfig.publicAccessCidrs "
            "vpcConfig.endpointPublicAccess vpcConfig.controlPlaneEgressMode"
        ),
        sets=words(
            "enabledClusterLogTypes vpcConfig.subnetIds vpcConfig.securityGroupIds vpcConfig.publicAccessCidrs "
            "encryptionConfig.resources"
        ),
        later=words(
            "version accessConfig enabledClusterLogTypes upgradePolicy zonalShiftConfig deletionProtection vpcConfig"
        ),
        after=_cluster_after,
        look=_cluster_look,
        wait=Wait(why=HEALTH),
        lingers=True,
        unready=NEW_ROLE,
        busy=("ResourceInUseException.*in progress",),
        tags=calls({"resourceArn": "{arn}"}),
        timeouts=(30 * MINUTE, 60 * MINUTE, 15 * MINUTE),
    ),
    "aws:eks/accessEntry:AccessEntry": Row(
        create="create_access_entry -> accessEntry",
        read="describe_access_entry -> accessEntry",
        key={**CLUSTER, "principalArn": "{principalArn}"},
        id="{clusterName}:{principalArn}",
        names={"userName": "username"},
        defaults={"type": "STANDARD"},
        force_new=words("clusterName principalArn type"),
        computed=words("kubernetesGroups userName"),
        sets=("kubernetesGroups",),
        updates=(("update_access_entry", words("kubernetesGroups userName")),),
        unready=("InvalidParameterException.*principalArn",),
        tags=calls({"resourceArn": "{accessEntryArn}"}),
    ),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": Row(
        create="associate_access_policy",
        read=_policies,
        delete="disassociate_access_policy",
        key={**CLUSTER, "principalArn": "{principalArn}", "policyArn": "{policyArn}"},
        id="{clusterName}#{principalArn}#{policyArn}",
        force_new=words("clusterName principalArn policyArn accessScope"),
        sets=("accessScope.namespaces",),
    ),
    "aws:eks/addon:Addon": Row(
        create="create_addon -> addon",
        read="describe_addon -> addon",
        delete=_addon_delete,
        key={**CLUSTER, "addonName": "{addonName}"},
        id="{clusterName}:{addonName}",
        prepare=_addon_prepare,
        apart=("resolveConflictsOnUpdate",),
        local=("preserve",),
        unseen=words("resolveConflictsOnCreate resolveConflictsOnUpdate"),
        force_new=words("clusterName addonName namespaceConfig"),
        computed=words("addonVersion configurationValues namespaceConfig"),
        sets=("podIdentityAssociations",),
        later=words(
            "addonVersion configurationValues serviceAccountRoleArn podIdentityAssociations resolveConflictsOnCreate"
        ),
        after=_addon_after,
        look=_addon_look,
        # DEGRADED passes: CoreDNS is so until there is a node
        wait=Wait(failed=words("CREATE_FAILED DELETE_FAILED"), why=HEALTH),
        lingers=True,
        unready=("InvalidParameterException.*(CREATE_FAILED|does not exist)",),
        busy=("ResourceInUseException.*in progress",),
        tags=calls({"resourceArn": "{addonArn}"}),
        timeouts=(20 * MINUTE, 20 * MINUTE, 40 * MINUTE),
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": Row(
        create="create_pod_identity_association -> association",
        read=_association_read,
        key={**CLUSTER, "associationId": "{associationId}"},
        id="{associationId}",
        imports="{clusterName},{associationId}",
        listing="list_pod_identity_associations -> associations",
        unique=words("clusterName namespace serviceAccount"),
        force_new=words("clusterName namespace serviceAccount"),
        computed=("disableSessionTags",),
        updates=(("update_pod_identity_association", words("roleArn disableSessionTags targetRoleArn policy")),),
        unready=("InvalidParameterException.*Role provided in the request does not exist",),
        tags=calls({"resourceArn": "{associationArn}"}),
    ),
}
