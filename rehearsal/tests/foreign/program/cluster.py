import json

import pulumi
import pulumi_aws as aws


def role(name, service, *policies):
    made = aws.iam.Role(
        name,
        assume_role_policy=json.dumps(
            {
                "Version": "2012-10-17",
                "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": service}}],
            }
        ),
    )
    attachments = [
        aws.iam.RolePolicyAttachment(f"{name}-{policy}", role=made.name, policy_arn=f"arn:aws:iam::aws:policy/{policy}")
        for policy in policies
    ]
    return made, attachments


def kubeconfig(cluster):
    def document(values):
        name, endpoint, authority = values
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [
                    {"name": "eks", "cluster": {"server": endpoint, "certificate-authority-data": authority["data"]}}
                ],
                "contexts": [{"name": "eks", "context": {"cluster": "eks", "user": "aws"}}],
                "current-context": "eks",
                "users": [
                    {
                        "name": "aws",
                        "user": {
                            "exec": {
                                "apiVersion": "client.authentication.k8s.io/v1beta1",
                                "command": "aws",
                                "args": ["--region", aws.config.region, "eks", "get-token", "--cluster-name", name],
                            }
                        },
                    }
                ],
            }
        )

    return pulumi.Output.all(cluster.name, cluster.endpoint, cluster.certificate_authority).apply(document)


def make(network):
    control, control_policies = role("shop-control", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
    node, node_policies = role(
        "shop-node",
        "ec2.amazonaws.com",
        "AmazonEKSWorkerNodePolicy",
        "AmazonEKS_CNI_Policy",
        "AmazonEC2ContainerRegistryReadOnly",
    )
    cluster = aws.eks.Cluster(
        "shop",
        role_arn=control.arn,
        vpc_config={"subnet_ids": [subnet.id for subnet in network.subnets]},
        opts=pulumi.ResourceOptions(depends_on=[*control_policies, *network.ready]),
    )
    nodes = aws.eks.NodeGroup(
        "shop",
        cluster_name=cluster.name,
        node_role_arn=node.arn,
        subnet_ids=[subnet.id for subnet in network.subnets],
        instance_types=["m7i.large"],
        scaling_config={"desired_size": 2, "min_size": 1, "max_size": 3},
        opts=pulumi.ResourceOptions(depends_on=node_policies),
    )
    return cluster, nodes
