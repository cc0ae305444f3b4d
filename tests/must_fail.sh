#!/bin/sh
# must_fail.sh PROGRAM TEST: the program, built without what the test is about (a segment of the key, say), runs that one
# test, which must fail: by a check, not because the program could not run.
program=$1
test=$2
output=$("$program" "$test" 2>&1)
status=$?
case $output in *"$test"*) ;; *) echo "$output"; echo "$test did not run"; exit 1 ;; esac
[ $status != 0 ] || { echo "$test passes without what it is about: it would not notice"; exit 1; }
[ $status -lt 126 ] || { echo "$output"; echo "$program ended with $status instead of a failed test"; exit 1; }
