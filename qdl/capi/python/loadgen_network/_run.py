"""A run, its dataset and its dispatch, as objects."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import struct
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, NoReturn, Protocol

from ._answers import Answers
from ._library import BUG, BUSY, FIRST_TOKENS, INTERRUPTED, NETWORK, OK, LonError, Response, check, library, text_of

_SAMPLE = struct.Struct("=QQ")
_TAKEN = 256
# Queries after which the thread that issues hands over what was answered.
_HAND_OVER_AFTER = 32
# Longest wait of one call of lon_take, in ms.
_STEP_MS = 50


class Sample(Protocol):
    """A sample to send, such as mlperf_loadgen.QuerySample."""

    id: int
    index: int


class Answer(NamedTuple):
    """An answer to a sample, or the first token of one."""

    id: int
    data: bytes
    n_tokens: int
    is_first_token: bool


class _Handle:
    """A handle of the library; 0 when it is closed."""

    def __init__(self, value: int) -> None:
        self.value = value
        self._closing = threading.Lock()
        # The lock while bytes of the library are read, which it may free on closing, unloading or fetching.
        self.borrowed = threading.Lock()

    def close(self, folder: str | os.PathLike[str] | None) -> None:
        """Closes once; later calls do nothing."""
        with self._closing:
            value, self.value = self.value, 0
            if value != 0:
                with self.borrowed:
                    code = library().lon_close(value, None if folder is None else os.fsencode(folder))
                check(code)


def _options(options: Mapping[str, Any]) -> bytes:
    return json.dumps(dict(options), default=os.fspath).encode()


def _indices(indices: Sequence[int]) -> array[int]:
    return array("Q", indices)


class Qsl:
    """A dataset: what the official QuerySampleLibrary asks for. Every method fails with LonError."""

    def __init__(self, handle: _Handle, is_alone: bool) -> None:
        """Not for callers: `Run.qsl` and `Qsl.open` make one."""
        self._handle = handle
        self._is_alone = is_alone

    @classmethod
    def open(cls, options: Mapping[str, Any]) -> Qsl:
        """Opens a dataset without nodes. Options are those of `Run` that say what is sent: benchmark, dataset,
        preprocess, ids-alone, aggregate, compression. To be closed."""
        handle = ctypes.c_uint64()
        check(library().lon_qsl_open(_options(options), ctypes.byref(handle)))
        return cls(_Handle(handle.value), is_alone=True)

    def __enter__(self) -> Qsl:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Frees the dataset. That of a run is closed with the run, and not by this."""
        if self._is_alone:
            self._handle.close(None)

    @property
    def total_count(self) -> int:
        """Samples of the dataset."""
        return self._count(library().lon_total_count)

    @property
    def performance_count(self) -> int:
        """Samples that fit into memory together."""
        return self._count(library().lon_performance_count)

    def load(self, indices: Sequence[int]) -> None:
        """Reads these samples and encodes them. Those that are loaded already stay so."""
        given = _indices(indices)
        check(library().lon_load(self._handle.value, given.buffer_info()[0], len(given)))

    def unload(self, indices: Sequence[int]) -> None:
        """Drops these samples from memory."""
        given = _indices(indices)
        with self._handle.borrowed:
            check(library().lon_unload(self._handle.value, given.buffer_info()[0], len(given)))

    def encoded(self, index: int) -> bytes:
        """A copy of a loaded sample as it is sent. Fails where it is not loaded."""
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        with self._handle.borrowed:
            check(library().lon_encoded(self._handle.value, index, ctypes.byref(data), ctypes.byref(size)))
            return ctypes.string_at(data.value or 0, size.value) if size.value else b""

    def describe(self) -> dict[str, Any]:
        """Returns the description of benchmark and dataset, and in a run of the nodes."""
        described: dict[str, Any] = json.loads(text_of(library().lon_describe, self._handle.value))
        return described

    def _count(self, function: Callable[..., int]) -> int:
        count = ctypes.c_size_t()
        check(function(self._handle.value, ctypes.byref(count)))
        return count.value


class Qdl:
    """Sends samples to the SUT nodes: what the official QueryDispatchLibrary asks for. Every method may be called from
    any thread, and fails with LonError."""

    def __init__(self, handle: _Handle) -> None:
        """Not for callers: `Run.qdl` is one."""
        self._handle = handle
        self._issue_loaded = library().lon_issue_loaded
        self._try_issue_loaded = library().lon_try_issue_loaded

    def name(self) -> str:
        """Asks every node for its name, now: "Network SUT: N1, N2"."""
        return text_of(library().lon_name, self._handle.value)

    def issue(self, samples: Sequence[Sample]) -> None:
        """Sends loaded samples. Returns when all are on their way."""
        if len(samples) == 1:
            one = samples[0]
            packed = _SAMPLE.pack(one.id, one.index)
            code = self._try_issue_loaded(self._handle.value, packed)
            if code == BUSY:
                code = self._issue_loaded(self._handle.value, packed, 1)
        else:
            many = array("Q", [number for sample in samples for number in (sample.id, sample.index)])
            code = self._issue_loaded(self._handle.value, many.buffer_info()[0], len(samples))
        if code:
            check(code)

    def issue_data(self, ids: Sequence[int], data: Sequence[bytes]) -> None:
        """Sends samples of the caller's own, each in the form of `Qsl.encoded`. The bytes are copied."""
        if len(ids) != len(data):
            raise ValueError(f"{len(ids)} ids, but {len(data)} samples")
        names, sizes = array("Q", ids), array("Q", map(len, data))
        pointers = (ctypes.c_char_p * len(data))(*data)
        check(library().lon_issue(self._handle.value, names.buffer_info()[0], pointers, sizes.buffer_info()[0],
                                  len(data)))

    def flush(self) -> None:
        """Nothing more is issued for now: the nodes need not wait for more."""
        check(library().lon_flush(self._handle.value))

    def take(self, timeout_ms: int = 50) -> list[Answer]:
        """Fetches copies of answers, some hundreds at most; an empty list when none has come in this time. For programs
        without the official LoadGen: inside of `Run.official` answers are LoadGen's. Fails with code 4, once, when the
        run becomes unusable; every sample without an answer is completed without data afterwards."""
        responses = (Response * _TAKEN)()
        count, kind = ctypes.c_size_t(), ctypes.c_int32()
        until = time.monotonic() + timeout_ms / 1000
        while True:
            # In short steps: others wait for their turn.
            left_ms = min(_STEP_MS, max(0, round((until - time.monotonic()) * 1000)))
            with self._handle.borrowed:
                check(library().lon_take(self._handle.value, responses, _TAKEN, left_ms, ctypes.byref(count),
                                         ctypes.byref(kind)))
                is_first = kind.value == FIRST_TOKENS
                taken = [Answer(one.id, ctypes.string_at(one.data, one.size) if one.size else b"", one.n_tokens,
                                is_first) for one in responses[:count.value]]
            if taken or left_ms == 0:
                return taken


def official_module() -> Any:
    """mlperf_loadgen. Fails with ModuleNotFoundError, which says what to install."""
    try:
        return importlib.import_module("mlperf_loadgen")
    except ModuleNotFoundError as error:
        if error.name != "mlperf_loadgen":
            raise
        told = "the official LoadGen is not installed: pip install mlcommons-loadgen"
        raise ModuleNotFoundError(told, name=error.name) from None


class Run:
    """A run on SUT nodes, which are its own until `close`.

    options: the flags of `loadgen-node run` without the dashes in front ("sut", "benchmark", "scenario", "out",
    "transport", "tls-ca", ...) with their values; True for a flag without a value, a list for one that is repeated.

    Loss: LoadGen waits for ever for a sample that gets no answer. So when a node is lost inside of `official`, or a
    sample gets no answer, the library writes its files into the folder "out" of the options, and the process ends with
    exit code 4.

    on_lost: called instead of that, once, with one sentence, on any thread. It must not call
    `close`. When it returns, every sample without an answer is completed with no data, so that LoadGen comes to its
    end. What LoadGen then says is worth nothing; `close` fails with code 4, and takes the word VALID away from the
    summary in its folder.

    Fails with LonError: code 2 for options, files and models that do not fit, 4 for nodes that cannot be reached.
    """

    def __init__(self, options: Mapping[str, Any], on_lost: Callable[[str], object] | None = None) -> None:
        handle = ctypes.c_uint64()
        check(library().lon_open(_options(options), None, ctypes.byref(handle)))
        self._handle = _Handle(handle.value)
        self._out = options.get("out")
        self._on_lost = on_lost
        # The lock of the thread that ends the run; a thread that ends the process keeps it.
        self._ending = threading.Lock()
        self._answers: Answers | None = None
        self.qsl = Qsl(self._handle, is_alone=False)
        self.qdl = Qdl(self._handle)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: BaseException | None,
                 _trace: TracebackType | None) -> None:
        try:
            self.close()
        except LonError:
            # The caller gets the first error.
            if kind is None:
                raise

    def describe(self) -> dict[str, Any]:
        """Returns the description of benchmark, dataset and nodes."""
        return self.qsl.describe()

    @contextlib.contextmanager
    def official(self, loadgen: Any = None) -> Iterator[tuple[int, int]]:
        """Yields the arguments of mlperf_loadgen.StartTest: the SUT (a QDL) and the QSL. A thread hands answers to
        LoadGen inside of the `with`. Fails with ModuleNotFoundError where the package mlcommons-loadgen is missing.

        LoadGen cannot go on when what it calls fails, and crashes when the error passes through it. So such an error
        ends the process, with its code: see `abort`.

        loadgen: the module to use instead of mlperf_loadgen.
        """
        loadgen = official_module() if loadgen is None else loadgen
        answers = Answers(self._handle.value, loadgen, self._lose, self._fail)
        known = [""]

        def name() -> str:
            try:
                known[0] = self.qdl.name()
            except LonError:
                # LoadGen asks a second time for its summary, when a lost node cannot be asked any more.
                if self._on_lost is None or not known[0]:
                    raise
            return known[0]

        sut = loadgen.ConstructQDL(self._issuer(answers), self._guarded(self.qdl.flush), self._guarded(name))
        qsl = loadgen.ConstructQSL(self.qsl.total_count, self.qsl.performance_count, self._guarded(self.qsl.load),
                                   self._guarded(self.qsl.unload))
        self._answers = answers
        answers.start()
        try:
            yield sut, qsl
        finally:
            answers.stop()
            loadgen.DestroyQSL(qsl)
            loadgen.DestroyQDL(sut)

    def close(self, folder: str | os.PathLike[str] | None = None) -> None:
        """Ends the run, lets the nodes go, and writes network_report.json, system_desc.json, report.html and
        qdl_result.json into `folder`, else into the folder "out" of the options, if there is one. Later calls do
        nothing.

        Returns when every sample that was issued was answered once. Whether the result is valid is for LoadGen to say.
        Fails with LonError: code 3 when the run cannot be used, 4 when a node or a sample was lost, 2 when one of the
        files is there already. The nodes are let go in every case.
        """
        if self._answers is not None:
            self._answers.stop()
        with self._ending:
            self._handle.close(folder)

    def abort(self, code: int, reason: str) -> NoReturn:
        """Ends the process with this exit code, and with the reason on standard error. Before that it closes the run,
        so that its files are in the folder "out". LoadGen is not asked: its logs stay as they are."""
        self._ending.acquire()  # pylint: disable=consider-using-with
        try:
            sys.stdout.flush()
            where = f"; see {self._out}/qdl_result.json" if self._out else ""
            print(f"loadgen_network: {reason}{where}", file=sys.stderr, flush=True)
            self._handle.close(None)
        except LonError:
            pass  # Either it says the same, or the reason counts more.
        finally:
            os._exit(code)

    def _lose(self, reason: str) -> None:
        """The run became unusable."""
        if self._on_lost is None:
            self.abort(NETWORK, reason)
        self._on_lost(reason)

    def _issuer(self, answers: Answers) -> Callable[[Sequence[Sample]], None]:
        """`Qdl.issue` for LoadGen, which calls it for every query: no error of it reaches LoadGen, and after some
        queries it hands over the answers that are there."""
        handle, try_issue, pack, turn = self._handle.value, library().lon_try_issue_loaded, _SAMPLE.pack, 0

        def issue(samples: Sequence[Sample]) -> None:
            nonlocal turn
            try:
                if len(samples) != 1 or try_issue(handle, pack(samples[0].id, samples[0].index)) != OK:
                    self.qdl.issue(samples)
                turn += 1
                if turn >= _HAND_OVER_AFTER:
                    turn = 0
                    answers.hand_over()
            except BaseException as error:  # pylint: disable=broad-except
                self._fail(error)

        return issue

    def _guarded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function for LoadGen: no error of it reaches LoadGen."""
        # `None` stands for no argument: LoadGen has functions of one argument at most, which is never None.
        def called(argument: Any = None) -> Any:
            try:
                return function() if argument is None else function(argument)
            except BaseException as error:  # pylint: disable=broad-except
                return self._fail(error)

        return called

    def _fail(self, error: BaseException) -> NoReturn:
        """Ends the process after an error that would pass through LoadGen, or leave it waiting."""
        if isinstance(error, LonError):
            self.abort(error.code if error.code <= NETWORK else BUG, str(error))
        self.abort(INTERRUPTED if isinstance(error, KeyboardInterrupt) else BUG, f"{type(error).__name__}: {error}")
