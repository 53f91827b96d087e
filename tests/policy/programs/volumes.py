"""Volumes and claims: modes by driver, claims that fit, claims of one node."""

from typing import Any

from policy.graph import Resource
from tests.policy.programs.form import Program, deployment, resource, template, thing, training, variables

MOUNTS, KEPT = "mounts_have_their_volume", "static_volumes_are_kept"
SAVED = "saves_can_be_written"
MODES, FIT, ALONE = "modes_known_to_driver", "claims_fit_their_volumes", "one_node_claims_have_one_pod"
RWX, RWO, ROX = ["ReadWriteMany"], ["ReadWriteOnce"], ["ReadOnlyMany"]
PLACE = {"dnsname": "fs-1.fsx.us-east-2.amazonaws.com", "mountname": "abc"}


def volume(driver: str = "fsx.csi.aws.com", attributes: Any = None, **spec: Any) -> Resource:
    """A static volume kept for the claim `data`."""
    csi = {"driver": driver, "volumeHandle": "fs-1", "volumeAttributes": PLACE if attributes is None else attributes}
    kept = {"claimRef": {"namespace": "here", "name": "data"}}
    given = {"accessModes": RWX, "capacity": {"storage": "1200Gi"}, "storageClassName": "", "csi": csi, **kept, **spec}
    return thing("core/v1", "PersistentVolume", "volume", namespace="", spec=given)


def claim(name: str = "data", **spec: Any) -> Resource:
    """A claim of the static volume."""
    asked = {"requests": {"storage": "1200Gi"}}
    given = {"accessModes": RWX, "storageClassName": "", "volumeName": "volume", "resources": asked, **spec}
    return thing("core/v1", "PersistentVolumeClaim", name, spec={k: v for k, v in given.items() if v is not None})


def kind(driver: str, name: str = "class", default: bool = False) -> Resource:
    """A StorageClass."""
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    metadata = {"name": name, "annotations": annotations}
    return resource("kubernetes:storage.k8s.io/v1:StorageClass", name, metadata=metadata, provisioner=driver)


def of_class(kind: str | None, modes: list[str], name: str = "data") -> Resource:
    """A claim that a class makes a volume for."""
    return claim(name, accessModes=modes, storageClassName=kind, volumeName=None)


def volume_of(driver: str, name: str) -> Resource:
    """A volume of another driver and name."""
    given = {"accessModes": RWO, "csi": {"driver": driver, "volumeHandle": name}}
    return thing("core/v1", "PersistentVolume", name, namespace="", spec=given)


def mounting(replicas: int | None) -> Resource:
    return deployment(replicas=replicas, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])


def at(*paths: str) -> Resource:
    """A Deployment that mounts a volume at each of these paths."""
    mounts = [{"name": f"v{number}", "mountPath": path} for number, path in enumerate(paths)]
    return deployment({"volumeMounts": mounts}, volumes=[{"name": each["name"], "emptyDir": {}} for each in mounts])


def saving(*args: str, trace: str = "") -> Resource:
    """A run that mounts the claim `data` at /saves."""
    container = {"args": ["/train.py", *args], "volumeMounts": [{"name": "data", "mountPath": "/saves"}]}
    container |= variables(TORCH_NCCL_DEBUG_INFO_TEMP_FILE=trace)
    return training(container=container, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])


READ_ONLY = volume(csi={"driver": "fsx.csi.aws.com", "volumeAttributes": PLACE, "readOnly": True})
SET = {"volumeClaimTemplates": [{"spec": {"accessModes": RWX, "storageClassName": "class"}}], "template": template()}
PROGRAMS = [
    Program(MODES, (volume(accessModes=ROX),), "ReadOnlyMany; fsx.csi.aws.com mounts ReadWriteMany"),
    Program(MODES, (volume(accessModes=[*ROX, *RWX]),), "fsx.csi.aws.com mounts"),
    Program(MODES, (volume(accessModes=RWO),), "fsx.csi.aws.com mounts"),
    Program(MODES, (volume(), claim(accessModes=ROX)), "has a claim with the access modes ReadOnlyMany"),
    Program(MODES, (volume("ebs.csi.aws.com"),), "ebs.csi.aws.com mounts ReadWriteOnce"),
    Program(MODES, (kind("ebs.csi.aws.com"), of_class("class", RWX)), "ebs.csi.aws.com mounts"),
    Program(MODES, (kind("ebs.csi.aws.com", default=True), of_class(None, RWX)), "ebs.csi.aws.com mounts"),
    Program(MODES, (kind("ebs.csi.aws.com"), thing("apps/v1", "StatefulSet", spec=SET)), "has a volumeClaimTemplate"),
    Program(
        MODES,
        (
            kind("fsx.csi.aws.com"),
            deployment(
                volumes=[
                    {
                        "name": "x",
                        "ephemeral": {
                            "volumeClaimTemplate": {"spec": {"storageClassName": "class", "accessModes": RWO}}
                        },
                    }
                ]
            ),
        ),
        "has a ephemeral volume",
    ),
    Program(MODES, (volume(), claim())),
    Program(MODES, (kind("ebs.csi.aws.com"), of_class("class", RWO))),
    Program(MODES, (volume("ebs.csi.aws.com", volumeMode="Block"),)),
    Program(MODES, (volume("csi.example.com", accessModes=ROX),)),
    Program(
        FIT, (volume(), claim(storageClassName=None), kind("ebs.csi.aws.com", default=True)), "gets the default one"
    ),
    Program(FIT, (volume(), claim(storageClassName="class"), kind("x")), "is of the class 'class'"),
    Program(FIT, (volume(storageClassName="class"), claim()), "is of the class ''"),
    Program(FIT, (volume(), claim(accessModes=RWO)), "asks for ReadWriteOnce"),
    Program(FIT, (volume(volumeMode="Block"), claim()), "its volume is a Block"),
    Program(
        FIT, (volume(), claim(resources={"requests": {"storage": "2400Gi"}})), "asks for 2400Gi of a volume of 1200Gi"
    ),
    Program(FIT, (volume(), claim(resources={"requests": {"storage": "2Ti"}})), "asks for 2Ti"),
    Program(FIT, (volume(claimRef={"namespace": "there", "name": "data"}), claim()), "kept for data in there"),
    Program(FIT, (volume(), claim(volumeName="other")), "names the volume other, which nothing creates"),
    Program(FIT, (volume(), claim(), claim("again")), "which data names too"),
    Program(FIT, (volume(claimRef={"namespace": "here", "name": "lost"}), claim("data")), "lost in here"),
    Program(FIT, (volume(attributes={"dnsname": "fs-1"}), claim()), "has no mountname"),
    Program(FIT, (volume(attributes={"mgs": "x", "fs": "y"}), claim()), "has no dnsname, mountname"),
    Program(FIT, (volume(), claim())),
    Program(FIT, (volume(), claim(resources={"requests": {"storage": "1Ti"}}))),
    Program(FIT, (of_class("class", RWO),)),
    Program(SAVED, (READ_ONLY, claim(), saving("--output_dir=/saves/1")), "to /saves/1, which is mounted read-only"),
    Program(SAVED, (volume(mountOptions=["ro"]), claim(), saving("--save", "/saves")), "which is mounted read-only"),
    Program(SAVED, (volume(), claim(), saving("--save=/tmp/saves")), "to /tmp/saves, which is gone with the pod"),
    Program(SAVED, (volume(mountOptions=["flock"]), claim(), saving("--save=/saves"))),
    Program(SAVED, (READ_ONLY, claim(), saving("--data=/saves"))),
    Program(SAVED, (READ_ONLY, claim(), saving(trace="/saves/trace-")), "to /saves/trace-, which is mounted read-only"),
    Program(SAVED, (READ_ONLY, claim(), saving(trace="/tmp/trace-"))),
    Program(ALONE, (of_class("class", RWO), mounting(2)), "in 2 pods"),
    Program(ALONE, (of_class("class", ["ReadWriteOncePod"]), mounting(3)), "in 3 pods"),
    Program(ALONE, (of_class("class", RWO), mounting(1))),
    Program(ALONE, (volume(), claim(), mounting(4))),
    Program(MODES, (volume(accessModes=[]),), "with the access modes none"),
    Program(MODES, (kind("fsx.csi.aws.com"), kind("ebs.csi.aws.com", "other"), of_class("other", RWO))),
    Program(MODES, (volume(), volume_of("ebs.csi.aws.com", "two"), claim("two", accessModes=RWO, volumeName="two"))),
    Program(FIT, (volume(claimRef=None), claim())),
    Program(FIT, (volume(),)),
    Program(FIT, (claim(),)),
    Program(FIT, (volume("csi.example.com", attributes={}), claim())),
    Program(FIT, (volume(storageClassName="class"), claim(storageClassName=None)), "is of the class ''"),
    Program(FIT, (volume(), claim(), of_class("class", RWO, name="other"))),
    Program(ALONE, (volume(), mounting(4))),
    Program(ALONE, (of_class("class", [*RWO, *RWX]), mounting(4))),
    Program(
        FIT, (volume(claimRef={"namespace": "here", "name": "lost"}), claim()), "lost in here, which nothing creates"
    ),
    Program(MODES, (volume(), deployment(volumes=[{"name": "x", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]))),
    Program(MOUNTS, (at("/data", "/data"),), "mounts 2 volumes at /data in main"),
    Program(MOUNTS, (at("/data", "/data/more"),)),
    Program(KEPT, (volume(persistentVolumeReclaimPolicy="Delete"),), "whose reclaim policy is Delete"),
    Program(KEPT, (volume(), volume_of("ebs.csi.aws.com", "two"), kind("ebs.csi.aws.com"))),
    Program(KEPT, (volume(persistentVolumeReclaimPolicy="Retain"),)),
]
