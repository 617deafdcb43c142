"""MIB COMMAND…: runs the command; fails if it does, or if it had more than so many MiB resident."""
import resource
import subprocess
import sys

subprocess.run(sys.argv[2:], check=True)
mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
if mib > float(sys.argv[1]):
    sys.exit(f"{mib:.0f} MiB resident, more than {sys.argv[1]}")
