#!/bin/bash
# A port that is free now, so that tests can run beside each other.
python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])'
