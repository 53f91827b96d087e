"""The tracker's PostgreSQL: what runs were made of, and every value they told."""

from dataclasses import dataclass

import pulumi

from components._base import Component
from components.platform.postgresql import PostgresArgs, postgres
from components.platform.servers import Database

ROLE_KEY = "gpucluster/tracking"
DATABASE = {ROLE_KEY: "database"}
HOST = "mlflow-database"
USER, NAME = "mlflow", "mlflow"


@dataclass(frozen=True, kw_only=True)
class TrackingDatabaseArgs:
    """A volume of `gib` of the class `storage_class`; `millicores` and `memory_mib` are what it asks for."""

    namespace: pulumi.Input[str]
    password: pulumi.Input[str]
    storage_class: pulumi.Input[str]
    gib: int
    image: str
    millicores: int
    memory_mib: int


class TrackingDatabase(Component):
    """The server. Its volume stays when the server is taken away, and goes with its namespace."""

    database: Database

    def __init__(self, name: str, args: TrackingDatabaseArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        server = PostgresArgs(
            name=HOST,
            namespace=args.namespace,
            labels=DATABASE,
            port="postgres",
            secret=HOST,
            user=USER,
            password=args.password,
            storage_class=args.storage_class,
            gib=args.gib,
            image=args.image,
            millicores=args.millicores,
            memory_mib=args.memory_mib,
            kept=True,
        )
        self.database = postgres(self, server)
        self.register_outputs({"secret": self.database.secret})
