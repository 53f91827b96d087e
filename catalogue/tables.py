"""The catalogue as shipped."""

from catalogue.images import DIGESTS
from catalogue.instances import INSTANCES
from catalogue.models import MODELS
from catalogue.prices import SERVICES
from catalogue.types import Catalogue

SHIPPED = Catalogue(instances=INSTANCES, models=MODELS, services=SERVICES, digests=DIGESTS)
