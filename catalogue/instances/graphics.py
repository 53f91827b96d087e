"""The G families: T4 (g4dn), A10G (g5), L4 (g6), L40S (g6e) and RTX PRO 6000 (g7e)."""

from catalogue.gpus import A10G, L4, L40S, RTX_PRO_6000, T4
from catalogue.instances.rows import graphics
from catalogue.prices import spot, tabled

G4DN = (
    graphics("g4dn.xlarge", T4, 1, 4, 16, (1, 125), (1, 3, 10, 25), tabled(0.526), spot=spot(0.2, 0.16, 0.25)),
    graphics("g4dn.2xlarge", T4, 1, 8, 32, (1, 225), (1, 3, 10, 25), tabled(0.752)),
    graphics("g4dn.4xlarge", T4, 1, 16, 64, (1, 225), (1, 3, 10, 25), tabled(1.204)),
    graphics("g4dn.8xlarge", T4, 1, 32, 128, (1, 900), (1, 4, 15, 50), tabled(2.176, 2.264), efa=True),
    graphics("g4dn.12xlarge", T4, 4, 48, 192, (1, 900), (1, 8, 30, 50), tabled(3.912), efa=True),
    graphics("g4dn.16xlarge", T4, 1, 64, 256, (1, 900), (1, 4, 15, 50), tabled(4.352, 4.528), efa=True),
    graphics("g4dn.metal", T4, 8, 96, 384, (2, 900), (1, 15, 50, 100), tabled(7.824), efa=True),
)

G5 = (
    graphics("g5.xlarge", A10G, 1, 4, 16, (1, 250), (1, 4, 15, 10), tabled(1.006), spot=spot(0.4, 0.3, 0.5)),
    graphics("g5.2xlarge", A10G, 1, 8, 32, (1, 450), (1, 4, 15, 10), tabled(1.212)),
    graphics("g5.4xlarge", A10G, 1, 16, 64, (1, 600), (1, 8, 30, 25), tabled(1.624)),
    graphics("g5.8xlarge", A10G, 1, 32, 128, (1, 900), (1, 8, 30, 25), tabled(2.448), efa=True),
    graphics(
        "g5.12xlarge", A10G, 4, 48, 192, (1, 3800), (1, 15, 50, 40), tabled(5.672), efa=True, spot=spot(2.1, 1.7, 2.5)
    ),
    graphics("g5.16xlarge", A10G, 1, 64, 256, (1, 1900), (1, 8, 30, 25), tabled(4.096), efa=True),
    graphics("g5.24xlarge", A10G, 4, 96, 384, (1, 3800), (1, 15, 50, 50), tabled(8.144), efa=True),
    graphics(
        "g5.48xlarge", A10G, 8, 192, 768, (2, 3800), (1, 7, 50, 100), tabled(16.288), efa=True, spot=spot(6.5, 5.0, 8.0)
    ),
)

G6 = (
    graphics("g6.xlarge", L4, 1, 4, 16, (1, 250), (1, 4, 15, 10), tabled(0.8048), spot=spot(0.32, 0.25, 0.4)),
    graphics("g6.2xlarge", L4, 1, 8, 32, (1, 450), (1, 4, 15, 10), tabled(0.9776)),
    graphics("g6.4xlarge", L4, 1, 16, 64, (1, 600), (1, 8, 30, 25), tabled(1.3232)),
    graphics("g6.8xlarge", L4, 1, 32, 128, (2, 450), (1, 8, 30, 25), tabled(2.0144), efa=True),
    graphics(
        "g6.12xlarge", L4, 4, 48, 192, (4, 940), (1, 8, 30, 40), tabled(4.6016), efa=True, spot=spot(1.8, 1.4, 2.2)
    ),
    graphics("g6.16xlarge", L4, 1, 64, 256, (2, 940), (1, 15, 50, 25), tabled(3.3968), efa=True),
    graphics("g6.24xlarge", L4, 4, 96, 384, (4, 940), (1, 15, 50, 50), tabled(6.6752), efa=True),
    graphics(
        "g6.48xlarge", L4, 8, 192, 768, (8, 940), (1, 15, 50, 100), tabled(13.3504), efa=True, spot=spot(5.0, 4.0, 6.0)
    ),
)

G6E = (
    graphics("g6e.xlarge", L40S, 1, 4, 32, (1, 250), (1, 4, 15, 20), tabled(1.861)),
    graphics("g6e.2xlarge", L40S, 1, 8, 64, (1, 450), (1, 4, 15, 20), tabled(2.24208, 2.8)),
    graphics("g6e.4xlarge", L40S, 1, 16, 128, (1, 600), (1, 8, 30, 20), tabled(3.00424)),
    graphics("g6e.8xlarge", L40S, 1, 32, 256, (2, 450), (1, 8, 30, 25), tabled(4.52856), efa=True),
    graphics("g6e.12xlarge", L40S, 4, 48, 384, (2, 1900), (1, 10, 30, 100), tabled(10.49264, 10.6032), efa=True),
    graphics("g6e.16xlarge", L40S, 1, 64, 512, (2, 950), (1, 15, 50, 35), tabled(7.57719), efa=True),
    graphics("g6e.24xlarge", L40S, 4, 96, 768, (2, 1900), (2, 10, 50, 200), tabled(15.06559), efa=True),
    graphics("g6e.48xlarge", L40S, 8, 192, 1536, (4, 1900), (4, 10, 50, 400), tabled(30.13118), efa=True),
)

G7E = (
    graphics("g7e.2xlarge", RTX_PRO_6000, 1, 8, 64, (1, 1900), (1, 4, 64, 50), tabled(3.3631, 5.72)),
    graphics("g7e.4xlarge", RTX_PRO_6000, 1, 16, 128, (1, 1900), (1, 8, 64, 50), tabled(3.9982)),
    graphics("g7e.8xlarge", RTX_PRO_6000, 1, 32, 256, (1, 1900), (1, 8, 64, 100), tabled(5.2682), efa=True),
    graphics("g7e.12xlarge", RTX_PRO_6000, 2, 48, 512, (1, 3800), (1, 10, 64, 400), tabled(8.2861), efa=True),
    graphics("g7e.24xlarge", RTX_PRO_6000, 4, 96, 1024, (2, 3800), (2, 10, 64, 800), tabled(16.5722), efa=True),
    graphics("g7e.48xlarge", RTX_PRO_6000, 8, 192, 2048, (4, 3800), (4, 10, 64, 1600), tabled(33.1443), efa=True),
)
