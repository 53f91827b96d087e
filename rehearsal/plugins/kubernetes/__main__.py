"""`python -m rehearsal.plugins.kubernetes ENGINE_ADDRESS`: the plugin as the engine starts it."""

import sys

from rehearsal.plugins.kubernetes.provider import KubernetesPlugin
from rehearsal.plugins.kubernetes.tools import Building
from rehearsal.plugins.servicer import serve

if __name__ == "__main__":
    addresses = [word for word in sys.argv[1:] if not word.startswith("-")]
    serve(KubernetesPlugin(addresses[0] if addresses else None, Building()))
