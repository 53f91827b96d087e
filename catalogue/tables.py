"""The catalogue as shipped."""

from catalogue.gpus import GPUS
from catalogue.images import DIGESTS, IMAGES
from catalogue.instances import INSTANCES
from catalogue.models import MODELS
from catalogue.nics import NICS
from catalogue.offerings import OFFERINGS
from catalogue.parts import PARTS
from catalogue.prices import RATES, SERVICES
from catalogue.servers import SERVERS
from catalogue.storage_servers import STORAGE_SERVERS
from catalogue.switches import SWITCHES
from catalogue.whole import Catalogue

SHIPPED = Catalogue(
    gpus=GPUS,
    nics=NICS,
    instances=INSTANCES,
    offerings=OFFERINGS,
    servers=SERVERS,
    switches=SWITCHES,
    storage_servers=STORAGE_SERVERS,
    models=MODELS,
    services=SERVICES,
    rates=RATES,
    parts=PARTS,
    images=IMAGES,
    digests=DIGESTS,
)
