#!/bin/bash
# Accounts and qualities of service of slurm-8n: on a head, as root. People are added to an account by
#   sacctmgr -i add user NAME account=ACCOUNT
set -euo pipefail

# sacctmgr add fails on what is there already.
there() { sacctmgr -nP show "$1" "$2" format="$3" | grep -qx "$2"; }

there qos training name || sacctmgr -i add qos training
there qos experiments name || sacctmgr -i add qos experiments
sacctmgr -i modify qos training set priority=1000 preempt="experiments" MaxJobsPerUser=2
sacctmgr -i modify qos experiments set priority=0 preemptmode=requeue GraceTime=30 MaxJobsPerUser=2
there account gpu-training account || sacctmgr -i add account gpu-training description=gpu-training organization=gpu-training
sacctmgr -i modify account gpu-training set fairshare=1 GrpTRES=gres/gpu=-1 qos=training,experiments DefaultQOS=experiments
