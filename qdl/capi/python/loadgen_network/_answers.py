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
# Longest wait of one call, in ms: a thread that is to stop does so in that time.
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
        self._fetch_now = self._fetcher(library().lon_take_now, 0)
        self._fetching_now = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="loadgen_network answers", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Returns when LoadGen is given nothing more. What was not fetched by then is dropped."""
        self._is_stopped = True
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def hand_over(self) -> None:
        """Hands over what is there, on the calling thread, which has just issued. While a thread that issues without a
        pause does this often, Python's lock need not go from thread to thread for every few answers."""
        if self._fetching_now.acquire(blocking=False):
            try:
                self._fetch_now()
            finally:
                self._fetching_now.release()

    def _run(self) -> None:
        try:
            fetch = self._fetcher(library().lon_take, _WAIT_MS)
            while not self._is_stopped:
                fetch()
        except BaseException as error:  # pylint: disable=broad-except
            self._failed(error)

    def _fetcher(self, take: Callable[..., int], wait_ms: int) -> Callable[[], None]:
        """A function that fetches once, and hands over what it got. For one thread at a time."""
        unpack, make = _LAYOUT.iter_unpack, self._loadgen.QuerySampleResponse
        complete, first_tokens = self._loadgen.QuerySamplesComplete, self._loadgen.FirstTokenComplete
        responses = (Response * _BATCH)()
        memory = memoryview(responses).cast("B")
        size, count, kind = ctypes.sizeof(Response), ctypes.c_size_t(), ctypes.c_int32()
        fixed = (self._handle, responses, _BATCH, wait_ms, ctypes.byref(count), ctypes.byref(kind))

        def fetch() -> None:
            code = take(*fixed)
            if code == OK:
                if count.value and not self._is_stopped:
                    batch = list(itertools.starmap(make, unpack(memory[:count.value * size])))
                    (complete if kind.value == COMPLETED else first_tokens)(batch)
            elif code == NETWORK:
                # The loss is reported once. Samples without an answer are completed without data from now on.
                self._lost(last_error())
            elif not self._is_stopped:
                raise LonError(code, last_error())

        return fetch
