#!/usr/bin/env python3
"""Writes the seed models of the ONNX importer's fuzz target: make_onnx_corpus.py FOLDER (needs the Python package onnx)."""
import os
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def weight(name, *dims, dtype=np.float32):
    return numpy_helper.from_array(np.arange(int(np.prod(dims)), dtype=dtype).reshape(dims), name)


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, dtype=np.int64), name)


def value(name, dtype=F, *dims):
    return helper.make_tensor_value_info(name, dtype, list(dims))


def model(nodes, inputs, outputs, initializers=(), opset=17, functions=(), domains=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in domains]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=8)


def branch(op):
    return helper.make_graph([helper.make_node(op, ["x"], ["b"])], op, [], [value("b", F, 2)])


def models():
    n = helper.make_node
    yield "conv", model([n("Conv", ["x", "w", "c"], ["t"], pads=[1, 1, 1, 1], group=2), n("Relu", ["t"], ["u"]),
                         n("MaxPool", ["u"], ["y"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)],
                        [value("x", F, "N", 4, "H", "W")], [value("y")], [weight("w", 2, 2, 3, 3), weight("c", 2)])
    yield "shape", model([n("Shape", ["x"], ["s"]), n("Gather", ["s", "i"], ["d"]), n("Concat", ["d", "m"], ["t"], axis=0),
                          n("Reshape", ["x", "t"], ["y"])], [value("x", F, "N", 3, "T")], [value("y")], [ints("i", 0), ints("m", -1)])
    yield "resize", model([n("Resize", ["x", "", "s"], ["y"], mode="linear", coordinate_transformation_mode="asymmetric")],
                          [value("x", F, 1, 1, "H", 4)], [value("y")], [numpy_helper.from_array(np.array([1, 1, 2, .5], np.float32), "s")])
    yield "slice", model([n("Slice", ["x", "a", "b", "c", "d"], ["y"])], [value("x", F, 5, "N")], [value("y")],
                         [ints("a", -1, 1), ints("b", -9, 2**63 - 1), ints("c", 0, 1), ints("d", -2, 1)])
    yield "if", model([n("If", ["c"], ["y"], then_branch=branch("Neg"), else_branch=branch("Abs"))],
                      [value("x", F, 2), value("c", B)], [value("y")])
    f = helper.make_function("local", "f", ["p"], ["q"], [n("Tanh", ["p"], ["q"])], [helper.make_opsetid("", 17)])
    yield "function", model([n("f", ["x"], ["y"], domain="local")], [value("x", F, 2)], [value("y")], functions=[f], domains=["local"])
    yield "lstm", model([n("LSTM", ["x", "w", "r"], ["y", "h"], hidden_size=2)], [value("x", F, 3, "B", 2)], [value("y"), value("h")],
                        [weight("w", 1, 8, 2), weight("r", 1, 8, 2)])
    yield "einsum", model([n("Einsum", ["x", "y"], ["z"], equation="...ij,jk->...ik")], [value("x", F, 2, "N", 3), value("y", F, 3, 4)], [value("z")])
    yield "norms", model([n("BatchNormalization", ["x", "s", "s", "s", "s"], ["t"]), n("Softmax", ["t"], ["u"], axis=1),
                          n("ReduceMean", ["u"], ["y"], axes=[2], keepdims=0)], [value("x", F, 1, 2, 3)], [value("y")], [weight("s", 2)])
    yield "opset6", model([n("Add", ["x", "b"], ["t"], broadcast=1, axis=1), n("Clip", ["t"], ["u"], min=0., max=6.),
                           n("Pad", ["u"], ["y"], pads=[0, 0, 1, 0, 0, 1], mode="reflect")],
                          [value("x", F, 1, 2, 3)], [value("y")], [weight("b", 2)], opset=6)
    yield "quantized", model([n("QuantizeLinear", ["x", "s", "z"], ["q"]), n("DequantizeLinear", ["q", "s", "z"], ["y"])],
                             [value("x", F, 4)], [value("y")],
                             [numpy_helper.from_array(np.float32(.5), "s"), numpy_helper.from_array(np.uint8(3), "z")])
    yield "scatter", model([n("ScatterND", ["x", "i", "u"], ["t"]), n("GatherElements", ["t", "j"], ["y"], axis=0), n("Tile", ["y", "r"], ["z"])],
                           [value("x", F, 4), value("u", F, 2)], [value("z")],
                           [numpy_helper.from_array(np.array([[1], [-1]]), "i"), ints("j", 0, -2), ints("r", 3)])


def main():
    for name, m in models():
        with open(os.path.join(sys.argv[1], name + ".onnx"), "wb") as f:
            f.write(m.SerializeToString())


main()
