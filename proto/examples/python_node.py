#!/usr/bin/env python3
"""A SUT node in Python, written from lon.proto alone: it answers every sample with eight zero bytes.

    pip install grpcio grpcio-tools
    proto/examples/python_node.py --name P1 --port 8000

It shows what every node must do; it is not fast. README.md beside lon.proto has the rules by number.
"""

import argparse
import importlib
import os
import sys
import tempfile
import time
from concurrent import futures
from pathlib import Path

import grpc
from grpc_tools import protoc

PROTO = Path(__file__).resolve().parent.parent / "lon" / "v1" / "lon.proto"


def generated():
    """The modules that grpc_tools makes of lon.proto: messages, and services."""
    folder = tempfile.mkdtemp()
    if protoc.main(["", f"-I{PROTO.parent}", f"--python_out={folder}", f"--grpc_python_out={folder}", str(PROTO)]):
        sys.exit(f"{PROTO} cannot be compiled")
    sys.path.insert(0, folder)
    return importlib.import_module("lon_pb2"), importlib.import_module("lon_pb2_grpc")


pb, services = generated()
WIRE_VERSION = 2

# A claim without streams ends after this many seconds; ten at the most.
LONGEST_ALONE_S = 5


class Run:
    """A run: its id, its secret, and its counts."""

    def __init__(self, run_id):
        self.id, self.secret = run_id, os.urandom(32)
        # Streams that are open, and when the last one ended; the claim counts from now until there is one.
        self.streams, self.alone_since = 0, time.monotonic()
        self.counts = dict.fromkeys(
            ["samples_received", "samples_answered", "message_bytes_in", "message_bytes_out", "payload_bytes_in"]
            + ["payload_bytes_out", "tensor_bytes_in", "tensor_bytes_out", "heartbeats", "client_heartbeats"], 0)

    def has_lapsed(self):
        """The client has gone without EndRun."""
        return self.streams == 0 and time.monotonic() - self.alone_since > LONGEST_ALONE_S

    def left(self):
        self.streams, self.alone_since = self.streams - 1, time.monotonic()

    def count(self, **more):
        for name, number in more.items():
            self.counts[name] += number


class Node(services.SutNodeServicer):
    """Serves one run at a time."""

    def __init__(self, name):
        self.name, self.run = name, None

    def GetName(self, request, context):
        return pb.GetNameResponse(nonce=request.nonce, name=self.name)

    def Describe(self, request, context):
        if request.wire_version != WIRE_VERSION:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"this node speaks version {WIRE_VERSION}")
        output = pb.TensorSpec(name="zero", dtype="i64", dims=[-1])
        return pb.DescribeResponse(wire_version=WIRE_VERSION, name=self.name, software="python_node.py",
                                   host=pb.Host(hostname="python"), codecs=["none"],
                                   backend=pb.Backend(engine="zeros", outputs=[output]))

    def StartRun(self, request, context):
        if {request.codec or "none", request.response_codec or "none"} != {"none"}:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "this node knows no codec")
        if self.run is not None and not self.run.has_lapsed():
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "another run has this node")
        self.run = Run(request.run_id)
        return pb.StartRunResponse(max_samples_in_flight=256, max_bytes_in_flight=1 << 26, max_sample_bytes=1 << 24,
                                   busy_samples=16, secret=self.run.secret)

    def known(self, request, context):
        run = self.run
        if run is None or (run.id, run.secret) != (request.run_id, request.secret):
            context.abort(grpc.StatusCode.NOT_FOUND, "no such run")
        return run

    def Dispatch(self, requests, context):
        run, size = self.known(next(requests).open, context), {}
        run.streams += 1
        context.add_callback(run.left)
        # The other end waits for the headers before it sends a sample.
        context.send_initial_metadata(())
        for message in requests:
            if message.HasField("heartbeat"):
                # The answer goes out at once: the other end wants to hear something every half second.
                run.count(client_heartbeats=1, heartbeats=1)
                yield pb.DispatchResponse(heartbeat=pb.Heartbeat())
                continue
            run.count(message_bytes_in=message.ByteSize(), payload_bytes_in=len(message.data),
                      tensor_bytes_in=len(message.data))
            size[message.id] = size.get(message.id, 0) + len(message.data)
            if not message.last:
                continue
            del size[message.id]
            answer = pb.DispatchResponse(id=message.id, last=True, total_len=8, data=bytes(8), stages=pb.Stages())
            run.count(samples_received=1, samples_answered=1, message_bytes_out=answer.ByteSize(),
                      payload_bytes_out=8, tensor_bytes_out=8)
            yield answer

    def Flush(self, request, context):
        run, deadline = self.known(request, context), time.monotonic() + 60
        while run.counts["samples_answered"] < request.samples_sent and time.monotonic() < deadline:
            time.sleep(0.001)
        return pb.FlushResponse()

    def EndRun(self, request, context):
        run, self.run = self.known(request, context), None
        # This node cannot count bytes on sockets, so it leaves them out.
        return pb.EndRunResponse(**run.counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--name", default="python", help="unique among the nodes of a run")
    parser.add_argument("--port", type=int, default=8000, help="on the loopback interface")
    given = parser.parse_args()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    services.add_SutNodeServicer_to_server(Node(given.name), server)
    server.add_insecure_port(f"127.0.0.1:{given.port}")
    server.start()
    print(f"{given.name} serves on 127.0.0.1:{given.port}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
