#!/usr/bin/env python3
"""A SUT node in Python, written from lon.proto alone. Its model `zeros` answers every sample with eight zero bytes, and
`sizes` with the number of bytes that the sample has.

    pip install grpcio grpcio-tools
    proto/examples/python_node.py --name P1 --port 8000

It shows what every node must do; it is not fast. README.md beside lon.proto has the rules by number.
"""

import argparse
import importlib
import os
import sys
import tempfile
import threading
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

# What the node takes in, for all tenants together.
SAMPLES_IN_FLIGHT, BYTES_IN_FLIGHT, SAMPLE_BYTES = 256, 1 << 26, 1 << 24
BUSY_SAMPLES = 16
MOST_TENANTS = 16

# The answer of each model to a sample of so many bytes. The first is that of a run without tenants.
MODELS = {"zeros": lambda size: bytes(8), "sizes": lambda size: size.to_bytes(8, "little")}


def backend(model):
    return pb.Backend(engine=model, outputs=[pb.TensorSpec(name=model, dtype="i64", dims=[-1])])


class Tenant:
    """A tenant of a run, or a run without tenants: its secret, its model, and its counts."""

    def __init__(self, run_id, model):
        self.id, self.secret, self.answer = run_id, os.urandom(32), MODELS[model]
        # Its streams have a thread each, and all of them count here.
        self.lock = threading.Lock()
        # Streams that are open, and when the last one ended; the claim counts from now until there is one.
        self.streams, self.alone_since = 0, time.monotonic()
        self.counts = dict.fromkeys(
            ["samples_received", "samples_answered", "message_bytes_in", "message_bytes_out", "payload_bytes_in"]
            + ["payload_bytes_out", "tensor_bytes_in", "tensor_bytes_out", "heartbeats", "client_heartbeats"], 0)

    def has_lapsed(self):
        """The client has gone without EndRun."""
        return self.streams == 0 and time.monotonic() - self.alone_since > LONGEST_ALONE_S

    def came(self):
        with self.lock:
            self.streams += 1

    def left(self):
        with self.lock:
            self.streams, self.alone_since = self.streams - 1, time.monotonic()

    def count(self, **more):
        with self.lock:
            for name, number in more.items():
                self.counts[name] += number


class Node(services.SutNodeServicer):
    """Serves one run at a time, with all its tenants."""

    def __init__(self, name):
        self.name, self.lock = name, threading.Lock()
        # Those that have the node and have not ended; none: it is free.
        self.tenants = []

    def GetName(self, request, context):
        return pb.GetNameResponse(nonce=request.nonce, name=self.name)

    def Describe(self, request, context):
        if request.wire_version != WIRE_VERSION:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"this node speaks version {WIRE_VERSION}")
        models = [pb.Model(name=model, backend=backend(model), codecs=["none"]) for model in MODELS]
        return pb.DescribeResponse(wire_version=WIRE_VERSION, name=self.name, software="python_node.py",
                                   host=pb.Host(hostname="python"), codecs=["none"], backend=models[0].backend,
                                   models=models)

    def StartRun(self, request, context):
        # Without tenants the run asks the first model; its codecs are then those of the request itself.
        first = pb.Tenant(model=next(iter(MODELS)), codec=request.codec, response_codec=request.response_codec)
        asked = request.tenants or [first]
        if len(asked) > MOST_TENANTS:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{self.name} takes {MOST_TENANTS} tenants at most")
        for tenant in asked:
            if tenant.model not in MODELS:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT,
                              f"{self.name} has no model '{tenant.model}' (its models: {', '.join(MODELS)})")
            if {tenant.codec or "none", tenant.response_codec or "none"} != {"none"}:
                context.abort(grpc.StatusCode.UNIMPLEMENTED, "this node knows no codec")
        tenants = [Tenant(request.run_id, tenant.model) for tenant in asked]
        with self.lock:
            if not all(tenant.has_lapsed() for tenant in self.tenants):
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "another run has this node")
            self.tenants = list(tenants)
        # Each tenant has an equal share, so all of them together stay within the limits of the node.
        share = BYTES_IN_FLIGHT // len(tenants)
        limits = {"max_samples_in_flight": SAMPLES_IN_FLIGHT // len(tenants), "max_bytes_in_flight": share,
                  "max_sample_bytes": min(SAMPLE_BYTES, share), "busy_samples": BUSY_SAMPLES}
        terms = [pb.TenantTerms(secret=tenant.secret, **limits) for tenant in tenants]
        return pb.StartRunResponse(secret=terms[0].secret, tenants=terms if request.tenants else [], **limits)

    def known(self, request, context):
        # The secret says which tenant a call or a stream is of.
        for tenant in list(self.tenants):
            if (tenant.id, tenant.secret) == (request.run_id, request.secret):
                return tenant
        context.abort(grpc.StatusCode.NOT_FOUND, "no such run")

    def Dispatch(self, requests, context):
        run, size = self.known(next(requests).open, context), {}
        run.came()
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
            data = run.answer(size.pop(message.id))
            answer = pb.DispatchResponse(id=message.id, last=True, total_len=len(data), data=data, stages=pb.Stages())
            run.count(samples_received=1, samples_answered=1, message_bytes_out=answer.ByteSize(),
                      payload_bytes_out=len(data), tensor_bytes_out=len(data))
            yield answer

    def Flush(self, request, context):
        run, deadline = self.known(request, context), time.monotonic() + 60
        while run.counts["samples_answered"] < request.samples_sent and time.monotonic() < deadline:
            time.sleep(0.001)
        return pb.FlushResponse()

    def EndRun(self, request, context):
        run = self.known(request, context)
        with self.lock:
            # The node is free again when the last tenant has ended.
            self.tenants = [tenant for tenant in self.tenants if tenant is not run]
        # This node cannot count bytes on sockets, so it leaves them out.
        return pb.EndRunResponse(**run.counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--name", default="python", help="unique among the nodes of a run")
    parser.add_argument("--port", type=int, default=8000, help="on the loopback interface")
    given = parser.parse_args()
    # A stream has a thread for as long as it is open, and each tenant has streams of its own.
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=64))
    services.add_SutNodeServicer_to_server(Node(given.name), server)
    server.add_insecure_port(f"127.0.0.1:{given.port}")
    server.start()
    print(f"{given.name} serves on 127.0.0.1:{given.port}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
