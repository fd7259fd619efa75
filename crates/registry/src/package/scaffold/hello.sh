#!/bin/sh
# The package is the current folder and cannot be written. /tmp can, and files in /output are handed back.
printf '{"greeting": "Hello, %s!"}\n' "$1"
