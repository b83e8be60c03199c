#!/usr/bin/env bash
# Builds lon-official, the example program, or another one: build.sh OUT LOADGEN LIBRARY [SOURCE]
#
# OUT is the program to write. LOADGEN is a folder with libmlperf_loadgen.a and include/ of the official LoadGen,
# LIBRARY the folder with liblon_qdl.so, where the program will look for it. SOURCE is the program's source,
# lon_official.cpp unless given. CXX is the compiler, g++ unless given.
set -euo pipefail
if [ $# -lt 3 ] || [ $# -gt 4 ]; then
  echo "Usage: $0 OUT LOADGEN LIBRARY [SOURCE]" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
loadgen=$(cd "$2" && pwd)
library=$(cd "$3" && pwd)
mkdir -p "$(dirname "$1")"
# The official headers are read as a system's: their warnings are not ours.
flags=(-O2 -Wall -Wextra -Werror -pthread -isystem "$loadgen/include" -I "$here/../include" -I "$here")
# Users' programs may be older than the example.
"${CXX:-g++}" -std=c++14 "${flags[@]}" -fsyntax-only -x c++ "$here/lon_qdl.hpp"
"${CXX:-g++}" -std=c++17 "${flags[@]}" "${4:-$here/lon_official.cpp}" -o "$1" \
  "$loadgen/libmlperf_loadgen.a" -L "$library" -llon_qdl "-Wl,-rpath,$library,-z,now"
