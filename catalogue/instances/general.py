"""What is not a GPU node: m7i for the system pool, CPU types with EFA, and Inferentia, which runs no CUDA."""

from catalogue.instances.rows import DESCRIBED, OPEN, cards, plain_card, system
from catalogue.prices import tabled
from catalogue.types import Instance, Nvme, UsageClass

M7I = (
    system("large", 2, 8, (3, 10, 12.5), 0.1008),
    system("xlarge", 4, 16, (4, 15, 12.5), 0.2016),
    system("2xlarge", 8, 32, (4, 15, 12.5), 0.4032),
    system("4xlarge", 16, 64, (8, 30, 12.5), 0.8064),
    system("8xlarge", 32, 128, (8, 30, 12.5), 1.6128),
    system("12xlarge", 48, 192, (8, 30, 18.75), 2.4192),
    system("16xlarge", 64, 256, (15, 50, 25), 3.2256),
    system("24xlarge", 96, 384, (15, 50, 37.5), 4.8384),
)

C5N = (
    Instance(
        type="c5n.18xlarge",
        vcpu=72,
        memory_gib=192,
        cards=cards(1, 15),
        addresses_per_interface=50,
        network_gbit_per_s=100,
        usage_classes=OPEN,
        source=DESCRIBED,
        efa_max=1,
        on_demand=tabled(3.888),
    ),
)

HPC6ID = (
    Instance(
        type="hpc6id.32xlarge",
        vcpu=64,
        memory_gib=1024,
        cards=cards(2, 1),
        addresses_per_interface=50,
        network_gbit_per_s=200,
        usage_classes=frozenset({UsageClass.ON_DEMAND}),
        source=DESCRIBED,
        efa_max=2,
        nvme=Nvme(count=4, size_gb=3800),
        on_demand=tabled(5.7),
    ),
)

INF2 = (
    Instance(
        type="inf2.xlarge",
        vcpu=4,
        memory_gib=16,
        cards=plain_card(4),
        addresses_per_interface=15,
        network_gbit_per_s=15,
        usage_classes=OPEN,
        source=DESCRIBED,
        neuron_count=1,
        on_demand=tabled(0.7582),
    ),
)
