"""`python -m rehearsal.plugins.beside OFFICIAL ENGINE_ADDRESS`: the official plugin, and ours for Releases."""

import sys

from rehearsal.plugins.beside.switch import serve

if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2:])
