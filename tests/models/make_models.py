#!/usr/bin/env python3
"""Makes the ONNX models of the tests and benches whose weights nobody ships: seeded random weights, sizes of the real nets.

usage: make_models.py [--out build/models/made] [NAME...]      (no NAME: all; --list names them)

Needs Debian's python3-onnx and python3-numpy only. The same seed gives the same bytes. Weights are scaled by their fan-in,
so activations stay normal numbers through every layer. All are opset 13, f32, batch 1; weights are initializers.

  resnet50, resnet50_bn      ResNet-50 v1.5 at 224x224; batch norms folded into the convs, or left as nodes
  mobilenet_v2, ..._bn       MobileNetV2 at 224x224, ReLU6 as Clip; likewise
  bert_base, bert_base_mask  BERT-base: 12 layers, 128 tokens; norms, GELU (erf) and attention spelled in primitive ops
  tiny_bert, tiny_bert_mask  the same with 2 layers, hidden 64, 16 tokens; batch is a symbolic dimension
  tiny_resnet(_bn)           three residual blocks at 32x32
  tiny_mobile(_bn)           inverted residuals with hard-swish chains and squeeze-excite gates, symbolic height and width
  tiny_pad                   residual blocks joined by zero channels (Concat with ConstantOfShape), channels-last at the ends
"""
import argparse
import os
import sys
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 13


class Net:
    """A graph under construction: ops are appended in order, each weight is drawn from one generator seeded by the name."""

    def __init__(self, name, with_batch_norm=False):
        base = name[:-3] if name.endswith("_bn") else name  # both forms of a net are the same function
        self.name, self.with_batch_norm = name, with_batch_norm
        self.random = np.random.Generator(np.random.PCG64(zlib.crc32(base.encode())))
        self.nodes, self.initializers, self.inputs, self.outputs, self.known = [], [], [], [], {}

    def input(self, name, shape, dtype=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, value, shape, dtype=TensorProto.FLOAT):
        self.outputs.append(helper.make_tensor_value_info(value, dtype, shape))

    def op(self, kind, *inputs, name=None, outputs=1, **attributes):
        label = name or f"{kind.lower()}_{len(self.nodes)}"
        names = [label] if outputs == 1 else [f"{label}.{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=label, **attributes))
        return names[0] if outputs == 1 else names

    def weight(self, array, hint="w"):
        name = f"{hint}_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def constant(self, values, dtype=np.float32):
        """A shared small constant: equal values are one initializer."""
        array = np.asarray(values, dtype)
        key = (array.tobytes(), array.shape, str(array.dtype))
        if key not in self.known:
            self.known[key] = self.weight(array, "const")
        return self.known[key]

    def normal(self, shape, scale):
        return (self.random.standard_normal(shape, dtype=np.float32) * np.float32(scale)).astype(np.float32)

    # ---- layers of the conv nets

    def conv(self, x, cin, cout, kernel, stride=1, groups=1, gain=2.0, norm_scale=1.0):
        """Conv with a batch norm behind it, kept as a node or folded; `gain` 2 before a ReLU, 1 before a sum."""
        w = self.normal((cout, cin // groups, kernel, kernel), np.sqrt(gain / (cin // groups * kernel * kernel)))
        gamma = (norm_scale * self.random.uniform(0.8, 1.2, cout)).astype(np.float32)
        beta, mean = self.normal(cout, 0.1), self.normal(cout, 0.1)
        variance, eps = self.random.uniform(0.8, 1.25, cout).astype(np.float32), np.float32(1e-5)
        window = dict(kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=groups,
                      dilations=[1, 1])
        if self.with_batch_norm:
            y = self.op("Conv", x, self.weight(w), **window)
            return self.op("BatchNormalization", y, self.weight(gamma, "gamma"), self.weight(beta, "beta"),
                           self.weight(mean, "mean"), self.weight(variance, "var"), epsilon=float(eps), momentum=0.9)
        factor = (gamma / np.sqrt(variance + eps)).astype(np.float32)
        return self.op("Conv", x, self.weight(w * factor[:, None, None, None]),
                       self.weight(beta - mean * factor, "b"), **window)

    def relu(self, x):
        return self.op("Relu", x)

    def relu6(self, x):
        return self.op("Clip", x, self.constant(0.0), self.constant(6.0))

    def hard_swish(self, x):
        """x * clip(x + 3, 0, 6) / 6, as exporters before opset 14 spell it."""
        gate = self.relu6(self.op("Add", x, self.constant(3.0)))
        return self.op("Div", self.op("Mul", x, gate), self.constant(6.0))

    def squeeze_excite(self, x, channels, inner):
        s = self.op("GlobalAveragePool", x)
        s = self.relu(self.plain_conv(s, channels, inner))
        s = self.op("HardSigmoid", self.plain_conv(s, inner, channels), alpha=0.2, beta=0.5)
        return self.op("Mul", x, s)

    def plain_conv(self, x, cin, cout, kernel=1, groups=1):
        w = self.normal((cout, cin // groups, kernel, kernel), np.sqrt(2.0 / (cin // groups * kernel * kernel)))
        return self.op("Conv", x, self.weight(w), self.weight(self.normal(cout, 0.1), "b"), kernel_shape=[kernel] * 2,
                       pads=[kernel // 2] * 4, group=groups)

    def classifier(self, x, channels, classes, gemm=True):
        x = self.op("Flatten", self.op("GlobalAveragePool", x), axis=1)
        w, b = self.normal((classes, channels), np.sqrt(1.0 / channels)), self.normal(classes, 0.1)
        self.op("Gemm", x, self.weight(w, "fc"), self.weight(b, "b"), name="logits", transB=1)
        self.output("logits", [1, classes])

    # ---- layers of the transformers

    def linear(self, x, cin, cout, scale=1.0):
        y = self.op("MatMul", x, self.weight(self.normal((cin, cout), scale / np.sqrt(cin))))
        return self.op("Add", self.weight(self.normal(cout, 0.02), "b"), y)

    def layer_norm(self, x, width):
        """Mean, variance by Pow, Sqrt and Div: as PyTorch exported it before opset 17."""
        centred = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1], keepdims=1))
        variance = self.op("ReduceMean", self.op("Pow", centred, self.constant(2.0)), axes=[-1], keepdims=1)
        scaled = self.op("Div", centred, self.op("Sqrt", self.op("Add", variance, self.constant(1e-12))))
        gamma = (1.0 + self.normal(width, 0.1)).astype(np.float32)
        y = self.op("Mul", scaled, self.weight(gamma, "gamma"))
        return self.op("Add", y, self.weight(self.normal(width, 0.1), "beta"))

    def gelu(self, x):
        erf = self.op("Erf", self.op("Div", x, self.constant(np.sqrt(2.0))))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.constant(1.0))), self.constant(0.5))

    def attention(self, x, width, heads, mask):
        def split(y, order):
            y = self.op("Reshape", y, self.constant([0, 0, heads, width // heads], np.int64))
            return self.op("Transpose", y, perm=order)

        q = split(self.linear(x, width, width), [0, 2, 1, 3])
        k = split(self.linear(x, width, width), [0, 2, 3, 1])
        v = split(self.linear(x, width, width), [0, 2, 1, 3])
        scores = self.op("Div", self.op("MatMul", q, k), self.constant(np.sqrt(width // heads)))
        if mask:
            scores = self.op("Add", scores, mask)
        y = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        y = self.op("Reshape", self.op("Transpose", y, perm=[0, 2, 1, 3]), self.constant([0, 0, width], np.int64))
        return self.linear(y, width, width)

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="weft make_models")
        model.ir_version = 8
        return model


def resnet(name, size, stem, blocks, bottleneck, classes, bn):
    net = Net(name, bn)
    x = net.relu(net.conv(net.input("image", [1, 3, size, size]), 3, stem, 7 if size > 64 else 3, 2))
    x = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]) if size > 64 else x
    channels = stem
    for stage, count in enumerate(blocks):
        mid = stem << stage
        out = mid * 4 if bottleneck else mid
        for i in range(count):
            stride = 2 if i == 0 and stage else 1
            if bottleneck:  # v1.5: the stride stands at the 3x3
                y = net.relu(net.conv(x, channels, mid, 1))
                y = net.relu(net.conv(y, mid, mid, 3, stride))
                y = net.conv(y, mid, out, 1, gain=1.0, norm_scale=0.4)
            else:
                y = net.relu(net.conv(x, channels, mid, 3, stride))
                y = net.conv(y, mid, out, 3, gain=1.0, norm_scale=0.4)
            shortcut = x if stride == 1 and channels == out else net.conv(x, channels, out, 1, stride, gain=1.0)
            x, channels = net.relu(net.op("Add", y, shortcut)), out
    net.classifier(x, channels, classes)
    return net.model()


def mobilenet_v2(name, bn):
    net = Net(name, bn)
    x = net.relu6(net.conv(net.input("image", [1, 3, 224, 224]), 3, 32, 3, 2))
    channels = 32
    for expand, out, count, first_stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                             (6, 160, 3, 2), (6, 320, 1, 1)]:
        for i in range(count):
            stride, hidden = first_stride if i == 0 else 1, channels * expand
            y = net.relu6(net.conv(x, channels, hidden, 1)) if expand > 1 else x
            y = net.relu6(net.conv(y, hidden, hidden, 3, stride, groups=hidden))
            y = net.conv(y, hidden, out, 1, gain=1.0)
            x = net.op("Add", x, y) if stride == 1 and channels == out else y
            channels = out
    x = net.relu6(net.conv(x, channels, 1280, 1))
    net.classifier(x, 1280, 1000)
    return net.model()


def tiny_mobile(name, bn):
    net = Net(name, bn)
    x = net.hard_swish(net.conv(net.input("image", [1, 3, "height", "width"]), 3, 8, 3, 2))
    for cin, hidden, out, kernel, stride in [(8, 16, 8, 3, 1), (8, 24, 12, 5, 2), (12, 36, 12, 5, 1)]:
        y = net.hard_swish(net.conv(x, cin, hidden, 1))
        y = net.hard_swish(net.conv(y, hidden, hidden, kernel, stride, groups=hidden))
        y = net.conv(net.squeeze_excite(y, hidden, hidden // 4), hidden, out, 1, gain=1.0)
        x = net.op("Add", x, y) if stride == 1 and cin == out else y
    net.classifier(x, 12, 10)
    return net.model()


def tiny_pad(name):
    net = Net(name)
    x = net.op("Transpose", net.input("image", [1, 32, 32, 3]), perm=[0, 3, 1, 2])
    x = net.relu(net.conv(x, 3, 8, 3, 2))
    for cin, out, stride in [(8, 12, 1), (12, 16, 2), (16, 16, 1)]:
        y = net.plain_conv(x, cin, cin, 3, cin)
        if stride == 2:
            y, x = (net.op("MaxPool", v, kernel_shape=[2, 2], strides=[2, 2]) for v in (y, x))
        y = net.plain_conv(y, cin, out)
        if out > cin:
            side = 16 if stride == 1 else 8
            zeros = net.op("ConstantOfShape", net.constant([1, out - cin, side, side], np.int64))
            x = net.op("Concat", x, zeros, axis=1)
        x = net.relu(net.op("Add", x, y))
    net.op("Transpose", net.plain_conv(x, 16, 6, 3), name="boxes", perm=[0, 2, 3, 1])
    net.output("boxes", [1, 8, 8, 6])
    return net.model()


def bert(name, layers, width, heads, tokens, vocabulary, batch, with_mask):
    net = Net(name.replace("_mask", ""))
    ids = net.input("input_ids", [batch, tokens], TensorProto.INT64)
    mask = None
    if with_mask:
        mask = net.op("Cast", net.input("attention_mask", [batch, tokens], TensorProto.INT64), to=TensorProto.FLOAT)
        mask = net.op("Unsqueeze", mask, net.constant([1, 2], np.int64))
        mask = net.op("Mul", net.op("Sub", net.constant(1.0), mask), net.constant(-10000.0))

    def table(rows, scale):
        return net.weight(net.normal((rows, width), scale), "embedding")

    x = net.op("Gather", table(vocabulary, 1.0), ids, axis=0)
    kinds = net.op("Gather", table(2, 0.3), net.constant(np.zeros((1, tokens)), np.int64), axis=0)
    places = net.op("Gather", table(tokens, 0.3), net.constant(np.arange(tokens)[None], np.int64), axis=0)
    x = net.layer_norm(net.op("Add", net.op("Add", x, kinds), places), width)
    for _ in range(layers):
        x = net.layer_norm(net.op("Add", net.attention(x, width, heads, mask), x), width)
        y = net.linear(net.gelu(net.linear(x, width, 4 * width)), 4 * width, width)
        x = net.layer_norm(net.op("Add", y, x), width)
    net.op("Identity", x, name="last_hidden_state")
    first = net.op("Gather", x, net.constant(0, np.int64), axis=1)
    w, b = net.normal((width, width), 1 / np.sqrt(width)), net.normal(width, 0.02)
    net.op("Tanh", net.op("Gemm", first, net.weight(w), net.weight(b, "b"), transB=1), name="pooler_output")
    net.output("last_hidden_state", [batch, tokens, width])
    net.output("pooler_output", [batch, width])
    model = net.model()
    model.graph.name = name
    return model


MODELS = {
    "resnet50": lambda n: resnet(n, 224, 64, [3, 4, 6, 3], True, 1000, False),
    "resnet50_bn": lambda n: resnet(n, 224, 64, [3, 4, 6, 3], True, 1000, True),
    "mobilenet_v2": lambda n: mobilenet_v2(n, False),
    "mobilenet_v2_bn": lambda n: mobilenet_v2(n, True),
    "bert_base": lambda n: bert(n, 12, 768, 12, 128, 30522, 1, False),
    "bert_base_mask": lambda n: bert(n, 12, 768, 12, 128, 30522, 1, True),
    "tiny_bert": lambda n: bert(n, 2, 64, 4, 16, 100, "batch", False),
    "tiny_bert_mask": lambda n: bert(n, 2, 64, 4, 16, 100, "batch", True),
    "tiny_resnet": lambda n: resnet(n, 32, 8, [1, 1, 1], False, 10, False),
    "tiny_resnet_bn": lambda n: resnet(n, 32, 8, [1, 1, 1], False, 10, True),
    "tiny_mobile": lambda n: tiny_mobile(n, False),
    "tiny_mobile_bn": lambda n: tiny_mobile(n, True),
    "tiny_pad": tiny_pad,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="models to make (default: all)")
    parser.add_argument("--out", default="build/models/made", help="folder for the .onnx files (default: %(default)s)")
    parser.add_argument("--force", action="store_true", help="make files again that are already there")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    options = parser.parse_args()
    if options.list:
        print("\n".join(MODELS))
        return 0
    unknown = [n for n in options.names if n not in MODELS]
    if unknown:
        parser.error(f"unknown model {unknown[0]!r}; known: {', '.join(MODELS)}")
    os.makedirs(options.out, exist_ok=True)
    for name in options.names or MODELS:
        path = os.path.join(options.out, name + ".onnx")
        if os.path.exists(path) and not options.force:
            continue
        model = MODELS[name](name)
        onnx.checker.check_model(model, full_check=True)
        with open(path + ".part", "wb") as file:
            file.write(model.SerializeToString(deterministic=True))
        os.replace(path + ".part", path)
        print(f"{path}: {len(model.graph.node)} nodes, {os.path.getsize(path) / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
