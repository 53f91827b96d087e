"""``python -m rehearsal.cloud --keys FILE [--port P] [--port-file F] [--alone]``: serve one AWS account on loopback."""

import argparse
import gc
import os
import signal
import sys
from pathlib import Path
from types import FrameType

os.environ.setdefault("MOTO_IAM_LOAD_MANAGED_POLICIES", "true")
os.environ.setdefault("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")


def main() -> int:
    """Serve until SIGTERM or SIGINT; 2 if the port is taken."""
    parser = argparse.ArgumentParser(prog="python -m rehearsal.cloud", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--port-file", type=Path, help="file that receives the port once the server answers")
    parser.add_argument("--keys", type=Path, required=True, help="file of the keys that it asks for; made if missing")
    parser.add_argument("--alone", action="store_true", help="EKS finishes by itself, for use without a supervisor")
    options = parser.parse_args()

    # The collector would walk moto's tables again and again as they are read, and find nothing, ever.
    gc.disable()
    from rehearsal import awsmodels, keys
    from rehearsal.cloud.offerings import load_lazily

    awsmodels.read_once()
    load_lazily()
    from rehearsal.cloud.server import bind

    gc.collect()
    gc.freeze()
    gc.enable()
    alone = options.alone or os.environ.get("GPUCLUSTER_CLOUD_ALONE") == "1"
    try:
        server = bind(keys.make(options.keys), options.port, alone)
    except keys.KeysError as error:
        print(f"rehearsal.cloud: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        reason = error.strerror or error
        print(
            f"rehearsal.cloud: cannot listen on 127.0.0.1:{options.port}: {reason}; try another port", file=sys.stderr
        )
        return 2
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    port = server.server_address[1]
    if options.port_file:
        partial = options.port_file.with_name(options.port_file.name + ".partial")
        partial.write_text(f"{port}\n")
        partial.rename(options.port_file)
    print(port, flush=True)
    server.serve_forever()
    return 0


def _stop(number: int, frame: FrameType | None) -> None:
    """Leave at once: all state is in memory and dies with the process anyway."""
    del number, frame
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
