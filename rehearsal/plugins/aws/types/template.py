"""Launch templates. Source: terraform-provider-aws internal/service/ec2/ec2_launch_template.go."""

from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.life import parameters
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import Autoname, Change, Row, words
from rehearsal.plugins.aws.tagging import ec2

DATA = words(
    "blockDeviceMappings capacityReservationSpecification cpuOptions creditSpecification description disableApiStop "
    "disableApiTermination ebsOptimized enclaveOptions hibernationOptions iamInstanceProfile imageId "
    "instanceInitiatedShutdownBehavior instanceMarketOptions instanceRequirements instanceType kernelId keyName "
    "licenseSpecifications maintenanceOptions metadataOptions monitoring networkInterfaces networkPerformanceOptions "
    "placement privateDnsNameOptions ramDiskId securityGroupNames tagSpecifications userData vpcSecurityGroupIds"
)


def _after(obj: Object, change: Change) -> None:
    if change.first:
        return
    latest, wanted = "", ""
    if change.touches(*DATA):
        inputs = {name: value for name, value in obj.inputs.items() if name in DATA}
        body = parameters(obj.row, "create_launch_template_version", inputs)
        body.setdefault("LaunchTemplateData", {})
        made = obj.call("create_launch_template_version", LaunchTemplateId=obj.id, **body)
        latest = str(made["LaunchTemplateVersion"]["VersionNumber"])
    default = obj.inputs.get("defaultVersion")
    if obj.inputs.get("updateDefaultVersion"):
        wanted = latest or _latest(obj)
    elif default is not None and change.touches("defaultVersion"):
        wanted = str(default)
    if wanted:
        obj.call("modify_launch_template", LaunchTemplateId=obj.id, DefaultVersion=wanted)


def _latest(obj: Object) -> str:
    return str(
        obj.search("describe_launch_templates -> LaunchTemplates[0].LatestVersionNumber", LaunchTemplateIds=[obj.id])
    )


def _read(obj: Object) -> Any:
    found = obj.search("describe_launch_templates -> LaunchTemplates[0]", LaunchTemplateIds=[obj.id])
    if not found:
        return None
    version = obj.search(
        "describe_launch_template_versions -> LaunchTemplateVersions[0]",
        LaunchTemplateId=obj.id,
        Versions=[str(found["LatestVersionNumber"])],
    )
    return {**found, **{name: version.get(name) for name in ("LaunchTemplateData", "VersionDescription")}}


def _look(_: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    data = found.get("LaunchTemplateData") or {}
    return {
        "latestVersion": found.get("LatestVersionNumber"),
        "defaultVersion": found.get("DefaultVersionNumber"),
        "description": found.get("VersionDescription"),
        "monitoring": {"enabled": data["Monitoring"]["Enabled"]} if "Monitoring" in data else None,
    }


ROWS: dict[str, Row] = {
    "aws:ec2/launchTemplate:LaunchTemplate": Row(
        create="create_launch_template -> LaunchTemplate",
        read=_read,
        id="{LaunchTemplateId}",
        listing="describe_launch_templates -> LaunchTemplates",
        inside="LaunchTemplateData",
        names={
            "name": "LaunchTemplateName",
            "description": "VersionDescription",
            "vpcSecurityGroupIds": "SecurityGroupIds",
            "securityGroupNames": "SecurityGroups",
            "networkInterfaces.securityGroups": "Groups",
            "networkInterfaces.ipv4Addresses": "PrivateIpAddresses",
            "networkInterfaces.ipv4AddressCount": "SecondaryPrivateIpAddressCount",
            "placement.affinity": "Affinity",
        },
        autoname=Autoname(limit=125),
        apart=("updateDefaultVersion", "defaultVersion"),
        local=(),
        unseen=("updateDefaultVersion",),
        force_new=words("name namePrefix"),
        computed=words("name defaultVersion"),
        sets=words("vpcSecurityGroupIds networkInterfaces.securityGroups"),
        later=DATA,
        after=_after,
        look=_look,
        bumps=words("latestVersion defaultVersion"),
        tags=ec2("launch-template"),
    ),
}
