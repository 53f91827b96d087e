"""EC2's errors, by the codes its API reference lists."""

from moto.ec2.exceptions import EC2ClientError


def refusal(code: str, message: str) -> Exception:
    """An EC2 client error to raise."""
    error: Exception = EC2ClientError(code, message)
    return error


def in_use(kind: str, resource_id: str) -> Exception:
    """DependencyViolation as EC2 words it for a resource that others depend on."""
    return refusal("DependencyViolation", f"The {kind} '{resource_id}' has dependencies and cannot be deleted.")
