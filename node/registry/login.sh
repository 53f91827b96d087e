#!/bin/bash
# Who the node is at the mirror, from Secrets Manager to the file that the kubelet reads for every pod (Kubernetes
# documentation, Pull an image from a private registry, "Configuring nodes"). It runs whenever the kubelet starts, when the
# directory is where it stays, and every hour, so that another password comes by itself: the kubelet looks again within
# minutes. Where it fails, the file from before stays. A secret is {"username": ..., "password": ...}.
set -euo pipefail

secret=$1 region=$2 registry=$3
file=${4:-/var/lib/kubelet/config.json}
umask 077
mkdir -p "${file%/*}"
aws secretsmanager get-secret-value --region "$region" --secret-id "$secret" --query SecretString --output text |
  REGISTRY=$registry python3 -c '
import base64, json, os, sys
found = json.load(sys.stdin)
login = base64.b64encode(":".join((found["username"], found["password"])).encode()).decode()
print(json.dumps({"auths": {os.environ["REGISTRY"]: {"auth": login}}}))
' >"$file.new"
mv "$file.new" "$file"
