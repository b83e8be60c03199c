"""The C interface, lon_qdl.h, declared for ctypes. Calls let other Python threads run meanwhile, except for
lon_try_issue_loaded, which never waits, and lon_take_now, which is lon_take for calls that do not wait."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
from collections.abc import Callable
from typing import Any

ABI = 1
# Status that functions return; 1 to 4 are also exit codes of loadgen-node.
OK = 0
BUG = 1
USAGE = 2
UNUSABLE = 3
NETWORK = 4
# Exit code of a program that a signal has ended; no function returns it.
INTERRUPTED = 5
# lon_try_issue_loaded would have to wait.
BUSY = 9
# The process was forked from the one in which the library has its threads.
FORK = 10
# Kinds of lon_take.
COMPLETED = 0
FIRST_TOKENS = 1

_HERE = pathlib.Path(__file__).resolve().parent
_FIRST_CAPACITY = 4096


class LonError(Exception):
    """A call of the library failed. `code` is one of the numbers in lon_qdl.h: 2 for usage, 3 for a run that cannot be
    used, 4 for network and nodes, 1 for a bug, 6 to 8 for wrong calls, 10 (FORK) in a process that was forked from the
    one in which something was opened: open after the fork, or have multiprocessing spawn its processes."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message or f"liblon_qdl.so returned {code}")
        self.code = code


class Response(ctypes.Structure):
    """lon_response: 32 bytes."""

    _fields_ = [("id", ctypes.c_uint64), ("data", ctypes.c_void_p), ("size", ctypes.c_size_t),
                ("n_tokens", ctypes.c_int64)]


def header_path() -> pathlib.Path:
    """lon_qdl.h, for programs in C."""
    return _HERE / "include" / "lon_qdl.h"


def cpp_header_path() -> pathlib.Path:
    """lon_qdl.hpp, for programs in C++ that have the official LoadGen's headers."""
    return _HERE / "include" / "lon_qdl.hpp"


def library_path() -> pathlib.Path:
    """The shared library: the file that the variable LON_QDL_LIBRARY names, or the one in this package."""
    return pathlib.Path(os.environ.get("LON_QDL_LIBRARY") or _HERE / "liblon_qdl.so")


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """The loaded library. Fails with OSError where there is none, with LonError where it is of another version."""
    if ctypes.sizeof(ctypes.c_size_t) != 8:
        raise LonError(USAGE, "loadgen_network needs a system with 64 bits")
    loaded = ctypes.CDLL(str(library_path()))
    handle, size, pointer, text = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p
    size_out = ctypes.POINTER(ctypes.c_size_t)
    arguments: dict[str, list[Any]] = {
        "lon_open": [text, pointer, ctypes.POINTER(handle)],
        "lon_qsl_open": [text, ctypes.POINTER(handle)],
        "lon_name": [handle, pointer, size, size_out],
        "lon_describe": [handle, pointer, size, size_out],
        "lon_total_count": [handle, size_out],
        "lon_performance_count": [handle, size_out],
        "lon_load": [handle, pointer, size],
        "lon_unload": [handle, pointer, size],
        "lon_encoded": [handle, size, ctypes.POINTER(pointer), size_out],
        "lon_issue_loaded": [handle, pointer, size],
        "lon_issue": [handle, pointer, pointer, pointer, size],
        "lon_flush": [handle],
        "lon_take": [handle, pointer, size, ctypes.c_uint32, size_out, ctypes.POINTER(ctypes.c_int32)],
        "lon_close": [handle, text],
    }
    loaded.lon_version.argtypes, loaded.lon_version.restype = [], text
    loaded.lon_abi.argtypes, loaded.lon_abi.restype = [], ctypes.c_uint32
    if loaded.lon_abi() != ABI:
        raise LonError(USAGE, f"{library_path()} has interface {loaded.lon_abi()}; this package needs {ABI}")
    for name, types in arguments.items():
        function = _symbol(loaded, name)
        function.argtypes, function.restype = types, ctypes.c_int32
    # These do not wait, so that Python's lock need not be given away and fetched again for them.
    brief = ctypes.PyDLL(str(library_path()))
    for name, attribute, types in [("lon_try_issue_loaded", "lon_try_issue_loaded", [handle, pointer]),
                                   ("lon_take", "lon_take_now", arguments["lon_take"])]:
        function = _symbol(brief, name)
        function.argtypes, function.restype = types, ctypes.c_int32
        setattr(loaded, attribute, function)
    last = _symbol(loaded, "lon_last_error")
    last.argtypes, last.restype = [], text
    return loaded


def _symbol(loaded: ctypes.CDLL, name: str) -> Any:
    """The function, whose symbol ends with the version of the interface."""
    try:
        function = getattr(loaded, f"{name}_v{ABI}")
    except AttributeError:
        told = f"{library_path()} has no {name}_v{ABI}: it is older than this package"
        raise LonError(USAGE, told) from None
    setattr(loaded, name, function)
    return function


def version() -> str:
    """The version of the library."""
    return bytes(library().lon_version()).decode()


def last_error() -> str:
    """Returns the error of the last call on this thread that failed."""
    return bytes(library().lon_last_error()).decode(errors="replace")


def check(code: int) -> None:
    """Raises what the last call on this thread said, unless it returned LON_OK."""
    if code != OK:
        raise LonError(code, last_error())


def text_of(function: Callable[..., int], handle: int) -> str:
    """Returns the whole text that a function writes into a buffer."""
    capacity, length = _FIRST_CAPACITY, ctypes.c_size_t()
    while True:
        buffer = ctypes.create_string_buffer(capacity)
        check(function(handle, buffer, capacity, ctypes.byref(length)))
        if length.value < capacity:
            return buffer.raw[:length.value].decode()
        capacity = length.value + 1
