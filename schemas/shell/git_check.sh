#!/bin/bash
[ $# != 0 ] && [ -e "$1" ] || exit 0
[ ! -d "$1" ] || [ -n "$(ls -A "$1")" ] || exit 0
echo "fatal: destination path '$1' already exists and is not an empty directory."
exit 1
