"""Services of AWS that an interface endpoint brings into a VPC, by the end of their names (com.amazonaws.REGION.NAME).

Source: EKS user guide, "Deploy private clusters with limited internet access"; PrivateLink guide, "AWS services that
integrate with AWS PrivateLink". S3 is not among them: its gateway endpoint costs nothing and every stack has it.
"""

from collections.abc import Mapping

ENDPOINTS: Mapping[str, str] = {
    "autoscaling": "Auto Scaling",
    "ec2": "EC2",
    "ec2messages": "Systems Manager, for agents older than 3.3.40",
    "ecr.api": "ECR, tokens and names of images",
    "ecr.dkr": "ECR, manifests of images",
    "eks": "EKS",
    "eks-auth": "EKS Pod Identity",
    "elasticfilesystem": "EFS",
    "elasticloadbalancing": "Elastic Load Balancing",
    "fsx": "FSx",
    "kms": "KMS",
    "logs": "CloudWatch Logs",
    "monitoring": "CloudWatch metrics",
    "secretsmanager": "Secrets Manager",
    "sqs": "SQS",
    "ssm": "Systems Manager",
    "ssmmessages": "Systems Manager, sessions",
    "sts": "STS",
}
"""What each is of."""
