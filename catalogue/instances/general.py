"""What is not a GPU node: m7i for the system pool, CPU types with EFA, and Inferentia, which runs no CUDA."""

from catalogue.instances.rows import DESCRIBED, OPEN, equal_cards, plain_card, system
from catalogue.prices import tabled
from catalogue.types import Instance, Nvme, UsageClass

M7I = (
    system("large", vcpu=2, memory_gib=8, interfaces=3, addresses=10, gbit_per_s=12.5, usd=0.1008),
    system("xlarge", vcpu=4, memory_gib=16, interfaces=4, addresses=15, gbit_per_s=12.5, usd=0.2016),
    system("2xlarge", vcpu=8, memory_gib=32, interfaces=4, addresses=15, gbit_per_s=12.5, usd=0.4032),
    system("4xlarge", vcpu=16, memory_gib=64, interfaces=8, addresses=30, gbit_per_s=12.5, usd=0.8064),
    system("8xlarge", vcpu=32, memory_gib=128, interfaces=8, addresses=30, gbit_per_s=12.5, usd=1.6128),
    system("12xlarge", vcpu=48, memory_gib=192, interfaces=8, addresses=30, gbit_per_s=18.75, usd=2.4192),
    system("16xlarge", vcpu=64, memory_gib=256, interfaces=15, addresses=50, gbit_per_s=25, usd=3.2256),
    system("24xlarge", vcpu=96, memory_gib=384, interfaces=15, addresses=50, gbit_per_s=37.5, usd=4.8384),
)

C5N = (
    Instance(
        type="c5n.18xlarge",
        vcpu=72,
        memory_gib=192,
        cards=equal_cards(1, interfaces=15),
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
        cards=equal_cards(2, interfaces=1),
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
        cards=plain_card(interfaces=4),
        addresses_per_interface=15,
        network_gbit_per_s=15,
        usage_classes=OPEN,
        source=DESCRIBED,
        neuron_count=1,
        on_demand=tabled(0.7582),
    ),
)

ROWS = (*M7I, *C5N, *HPC6ID, *INF2)
