"""A llama.cpp server with a language model of two layers and random weights, which answers nonsense at once.

    DIR/venv/bin/python tests/servers/llama.py --port 18080 [--slots 4]

Speaks OpenAI's chat/completions on 127.0.0.1 until it is told to stop (SIGTERM or SIGINT). The model is called "tiny".
It prints one line, "ready on http://127.0.0.1:PORT", when it can be asked.
"""

import argparse
import pathlib
import signal
import tempfile

import gguf
import numpy
import xllamacpp

LAYERS, WIDTH, HEADS, INNER, CONTEXT = 2, 64, 4, 128, 2048


def vocabulary():
    """Three special tokens, all bytes, and some words so that answers are more than bytes."""
    normal, unknown, control, byte = 1, 2, 3, 6
    tokens = [(b"<unk>", unknown), (b"<s>", control), (b"</s>", control)]
    tokens += [(f"<0x{value:02X}>".encode(), byte) for value in range(256)]
    tokens += [(f"\u2581w{number}".encode(), normal) for number in range(125)]
    return tokens


def write_model(path, seed):
    random = numpy.random.default_rng(seed)
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    tokens = vocabulary()
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token for token, _ in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([kind for _, kind in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template("{% for message in messages %}{{ message['content'] }}{% endfor %}")

    def weights(*shape):
        return (random.standard_normal(shape) * 0.1).astype(numpy.float32)

    ones = numpy.ones(WIDTH, dtype=numpy.float32)
    writer.add_tensor("token_embd.weight", weights(len(tokens), WIDTH))
    writer.add_tensor("output_norm.weight", ones)
    output = weights(len(tokens), WIDTH)
    # The end is never the likeliest: answers are as long as they are asked to be.
    output[:3] = 0.0
    writer.add_tensor("output.weight", output)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        writer.add_tensor(block + "attn_norm.weight", ones)
        writer.add_tensor(block + "ffn_norm.weight", ones)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"{block}{name}.weight", weights(WIDTH, WIDTH))
        writer.add_tensor(block + "ffn_gate.weight", weights(INNER, WIDTH))
        writer.add_tensor(block + "ffn_up.weight", weights(INNER, WIDTH))
        writer.add_tensor(block + "ffn_down.weight", weights(WIDTH, INNER))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    # The signals are blocked before any thread is started, so that all of them leave the signals to sigwait.
    stop = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stop)
    with tempfile.TemporaryDirectory(prefix="llama-") as folder:
        model = pathlib.Path(folder) / "tiny.gguf"
        write_model(model, args.seed)
        params = xllamacpp.CommonParams()
        params.model.path = str(model)
        params.model_alias = {"tiny"}
        params.hostnames = ["127.0.0.1"]
        params.port = args.port
        params.n_ctx = CONTEXT * args.slots
        params.n_parallel = args.slots
        params.cpuparams.n_threads = 1
        params.cpuparams_batch.n_threads = 1
        params.warmup = False
        server = xllamacpp.Server(params)
        print(f"ready on {server.listening_address}", flush=True)
        signal.sigwait(stop)
    # The server's threads have no end of their own.
    import os

    os._exit(0)


if __name__ == "__main__":
    main()
