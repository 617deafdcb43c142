#!/usr/bin/env bash
# expect_exit.sh STATUS[,STATUS...] COMMAND...: succeeds if the command exits with one of them.
wanted=$1
shift
"$@"
status=$?
case ",$wanted," in *,$status,*) exit 0 ;; esac
echo "exit status $status where $wanted was expected: $*" >&2
exit 1
