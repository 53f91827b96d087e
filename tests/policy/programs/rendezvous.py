"""What an operator tells its pods, and programs that say it too."""

from tests.policy.programs.form import Program, deployment, gpus, job, pod, template, thing, training, variables
from tests.policy.programs.training import torchrun, volcano

OWNED, DEVICES = "operators_own_their_variables", "devices_come_from_the_plugin"
LAUNCH = "launchers_believe_the_operator"
PROGRAMS = [
    Program(OWNED, (training(container=variables(MASTER_ADDR="one")),), "sets MASTER_ADDR"),
    Program(OWNED, (training(container=variables(PET_NNODES="2", RANK="0")),), "sets PET_NNODES, RANK"),
    Program(
        OWNED, (training(container={"command": ["sh", "-c", "export WORLD_SIZE=8; torchrun x"]}),), "sets WORLD_SIZE"
    ),
    Program(
        OWNED,
        (
            training(container={"envFrom": [{"configMapRef": {"name": "more"}}]}),
            thing("core/v1", "ConfigMap", "more", data={"MASTER_PORT": "29500"}),
        ),
        "sets MASTER_PORT",
    ),
    Program(OWNED, (volcano(1, {"template": template(variables(VC_TASK_INDEX="0"))}),), "sets VC_TASK_INDEX"),
    Program(OWNED, (job(variables(JOB_COMPLETION_INDEX="0"), completionMode="Indexed"),), "sets JOB_COMPLETION_INDEX"),
    Program(OWNED, (training(container=variables(CHECKPOINT_DIR="/saves", NCCL_DEBUG="INFO")),)),
    Program(OWNED, (training(container={"command": ["sh", "-c", "MASTER_ADDR=$PET_MASTER_ADDR torchrun x"]}),)),
    Program(OWNED, (thing("apps/v1", "StatefulSet", spec={"template": template(variables(MASTER_ADDR="one-0"))}),)),
    Program(DEVICES, (training(container=variables(CUDA_VISIBLE_DEVICES="0,1")),), "sets CUDA_VISIBLE_DEVICES=0,1"),
    Program(DEVICES, (deployment(variables(NVIDIA_VISIBLE_DEVICES="all")),), "uses those of other pods"),
    Program(DEVICES, (deployment({**gpus(1), **variables(NVIDIA_VISIBLE_DEVICES="all")}),), "in addition to GPUs"),
    Program(
        DEVICES, (thing("apps/v1", "DaemonSet", spec={"template": template(variables(NVIDIA_VISIBLE_DEVICES="all"))}),)
    ),
    Program(DEVICES, (deployment(variables(NVIDIA_VISIBLE_DEVICES="void")),)),
    Program(DEVICES, (training(container=variables(CUDA_VISIBLE_DEVICES="0,1,2,3,4,5,6,7")),)),
    Program(DEVICES, (training(container={"command": ["sh", "-c", "CUDA_VISIBLE_DEVICES=0 a & b"]}),)),
    Program(LAUNCH, (torchrun("--standalone"),), "each trains alone"),
    Program(LAUNCH, (torchrun("--nnodes=$WORLD_SIZE"),), "counts processes"),
    Program(LAUNCH, (torchrun("--nnodes=4"),), "gives --nnodes=4 in a job of 2 pods"),
    Program(LAUNCH, (torchrun("--nnodes", "4"),), "gives --nnodes=4"),
    Program(LAUNCH, (torchrun("--node_rank=0", workers=2),), "gives --node-rank=0 to 2 pods alike"),
    Program(LAUNCH, (torchrun("--master_addr=127.0.0.1"),), "gives --master-addr=127.0.0.1"),
    Program(LAUNCH, (torchrun("--rdzv-endpoint=localhost:29400"),), "gives --rdzv-endpoint=localhost:29400"),
    Program(LAUNCH, (torchrun("--nnodes=$(PET_NNODES)", "--master_addr=$(MASTER_ADDR)", "--node_rank=$(RANK)"),)),
    Program(LAUNCH, (torchrun("--nnodes=2", "--nproc-per-node=8"),)),
    Program(LAUNCH, (thing("core/v1", "Pod", spec=pod({"args": ["torchrun", "--standalone", "x.py"]})),)),
    Program(OWNED, (volcano(1, {"template": template(variables(RANK="0"))}, plugins={"pytorch": []}),), "sets RANK"),
    Program(OWNED, (volcano(1, {"template": template(variables(RANK="0"))}),)),
    Program(OWNED, (training(container=variables(RANKING="1", MY_PET_NAME="x")),)),
    Program(DEVICES, (deployment(variables(CUDA_VISIBLE_DEVICES="0")),)),
    Program(
        DEVICES,
        (deployment({**gpus(2), **variables(CUDA_VISIBLE_DEVICES="0"), "args": ["CUDA_VISIBLE_DEVICES=1 other"]}),),
    ),
    Program(LAUNCH, (torchrun("--seed=4", "--node-rank=0"),)),
    Program(LAUNCH, (torchrun("--master-addr=one-master-0"),)),
    Program(
        LAUNCH,
        (
            thing(
                "jobset.x-k8s.io/v1alpha2",
                "JobSet",
                spec={
                    "replicatedJobs": [
                        {
                            "replicas": 2,
                            "template": {
                                "spec": {"template": template({"args": ["--nnodes=9", "--master-addr=one-0.one"]})}
                            },
                        }
                    ]
                },
            ),
        ),
    ),
]
