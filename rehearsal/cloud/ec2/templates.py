"""Launch templates: unknown ones are errors, tags are those of now, versions keep their user data usable.

Sources: EC2 API reference, CreateLaunchTemplate, CreateLaunchTemplateVersion, DescribeLaunchTemplates.
"""

from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.launch_templates import LaunchTemplate
from moto.ec2.utils import parse_user_data

from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2.errors import refusal
from rehearsal.cloud.ec2.use import forget_tags

AMENDMENTS = Amendments()


class _TagsOfNow:
    """Serves ``template.tags`` while the instance has no such attribute of its own."""

    def __get__(self, template: Any, owner: type | None = None) -> Any:
        return template.get_tags()


AMENDMENTS.attribute(LaunchTemplate, "tags", _TagsOfNow())


@AMENDMENTS.around(LaunchTemplate, "__init__")
def launch_template_init(original: Any, self: Any, *args: Any, **kwargs: Any) -> None:
    """Moto freezes the tags a template is made with; AWS shows the present ones."""
    original(self, *args, **kwargs)
    self.__dict__.pop("tags", None)


@AMENDMENTS.around(EC2Backend, "create_launch_template")
def create_launch_template(
    original: Any, self: Any, name: str, description: str, template_data: dict[str, Any], tag_spec: dict[str, Any]
) -> Any:
    """The template's own tags are not part of its data; moto writes them into both."""
    own = [each for each in template_data.get("TagSpecifications", []) if each["ResourceType"] != "launch-template"]
    if own:
        template_data["TagSpecifications"] = own
    else:
        template_data.pop("TagSpecifications", None)
    return original(self, name, description, template_data, tag_spec)


@AMENDMENTS.around(LaunchTemplate, "create_version")
def create_version(original: Any, self: Any, data: dict[str, Any], description: str) -> Any:
    """User data of later versions is base64 too; moto checks the first version's only."""
    if isinstance(data.get("UserData"), str):
        data["UserData"] = parse_user_data(data["UserData"])
    return original(self, data, description)


@AMENDMENTS.around(LaunchTemplate, "get_version")
def get_version(original: Any, self: Any, num: Any) -> Any:
    """InvalidLaunchTemplateId.VersionNotFound for a number that is not there; moto counts 0 and -1 from the end."""
    text = str(num).lower()
    if text not in ("$latest", "$default") and text not in {str(version.number) for version in self.versions}:
        message = f"Could not find launch template version {num} for template id {self.id}."
        raise refusal("InvalidLaunchTemplateId.VersionNotFound", message)
    return original(self, num)


@AMENDMENTS.around(EC2Backend, "describe_launch_templates")
def describe_launch_templates(
    original: Any, self: Any, template_names: Any = None, template_ids: Any = None, filters: Any = None
) -> Any:
    """InvalidLaunchTemplateId.NotFound for an unknown id; moto leaves it out."""
    for template_id in template_ids or []:
        if template_id not in self.launch_templates:
            message = f"The specified launch template, with template ID {template_id}, does not exist."
            raise refusal("InvalidLaunchTemplateId.NotFound", message)
    return original(self, template_names, template_ids, filters)


@AMENDMENTS.around(EC2Backend, "delete_launch_template")
def delete_launch_template(original: Any, self: Any, name: str, tid: str | None) -> Any:
    """Its tags go with it."""
    template = original(self, name, tid)
    forget_tags(self, template.id)
    return template
