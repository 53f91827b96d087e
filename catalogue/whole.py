"""The whole catalogue: row types come from `types`, then `network_types`, then `metal_types`, and end here."""

from collections.abc import Mapping
from dataclasses import dataclass

from catalogue.image_types import ContainerImage
from catalogue.metal_types import Server, StorageServer
from catalogue.model_types import Model
from catalogue.network_types import Nic, Switch
from catalogue.offerings import Offerings
from catalogue.types import Gpu, Instance, Price, PurchasePrice, Rate


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """The tables the planner reads. A site's own rows make another one (`catalogue.site`)."""

    gpus: Mapping[str, Gpu]
    nics: Mapping[str, Nic]
    instances: Mapping[str, Instance]
    offerings: Offerings
    servers: Mapping[str, Server]
    switches: Mapping[str, Switch]
    storage_servers: Mapping[str, StorageServer]
    models: Mapping[str, Model]
    services: Mapping[str, Price]
    rates: Mapping[str, Rate]
    parts: Mapping[str, PurchasePrice]
    images: Mapping[str, ContainerImage]
    digests: Mapping[str, str]
