"""The Python thread that fetches answers and hands them to the official LoadGen, many at a time."""

from __future__ import annotations

import ctypes
import itertools
import struct
import threading
from collections.abc import Callable
from typing import Any

from ._library import COMPLETED, NETWORK, OK, LonError, Response, last_error, library

# Answers of one call at most. LoadGen stamps them when the whole batch is Python objects: about half a microsecond for
# each.
_BATCH = 1024
# How long one call waits, in ms: a thread that is to stop does so in that time.
_WAIT_MS = 50
# lon_response, without padding.
_LAYOUT = struct.Struct("=QQQq")


class Answers:
    """Fetches the answers of one run until it is stopped. Without work it waits in the library, and Python goes on."""

    def __init__(self, handle: int, loadgen: Any, lost: Callable[[str], object],
                 failed: Callable[[BaseException], object]) -> None:
        """`loadgen` is the module mlperf_loadgen. `lost` is told once why the run cannot be used, and `failed` of any
        error here: LoadGen waits for ever for what is not handed over."""
        self._handle = handle
        self._loadgen = loadgen
        self._lost = lost
        self._failed = failed
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="loadgen_network answers", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Returns when LoadGen is given nothing more. What was not fetched by then is dropped."""
        self._is_stopped = True
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        try:
            self._fetch()
        except BaseException as error:  # pylint: disable=broad-except
            self._failed(error)

    def _fetch(self) -> None:
        lib, loadgen, handle = library(), self._loadgen, self._handle
        take, unpack, make = lib.lon_take, _LAYOUT.iter_unpack, loadgen.QuerySampleResponse
        complete, first_tokens = loadgen.QuerySamplesComplete, loadgen.FirstTokenComplete
        responses = (Response * _BATCH)()
        memory = memoryview(responses).cast("B")
        size, count, kind = ctypes.sizeof(Response), ctypes.c_size_t(), ctypes.c_int32()
        count_out, kind_out = ctypes.byref(count), ctypes.byref(kind)
        while not self._is_stopped:
            code = take(handle, responses, _BATCH, _WAIT_MS, count_out, kind_out)
            if code == OK:
                if count.value and not self._is_stopped:
                    batch = list(itertools.starmap(make, unpack(memory[:count.value * size])))
                    (complete if kind.value == COMPLETED else first_tokens)(batch)
            elif code == NETWORK:
                # Said once. What has no answer is completed without data from now on.
                self._lost(last_error())
            elif not self._is_stopped:
                raise LonError(code, last_error())
