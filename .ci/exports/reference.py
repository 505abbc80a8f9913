"""What onnxruntime makes of a model: one line of JSON per text, {"text", "ids", "vector"}.

    reference.py MODEL.onnx TEXTS.jsonl > OUT.jsonl

TEXTS.jsonl is a golden of shared/golden/embedding: texts with the ids of the uncased English vocabulary. Of the
outputs, whatever they are called, the hidden states are the one of floats with three sides; their mean, made a unit
vector, is what sentence-transformers calls mean pooling.
"""
import json
import sys

import numpy
import onnxruntime

model, texts = sys.argv[1:]
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
inputs = [i.name for i in session.get_inputs()]
with open(texts, encoding="utf-8") as lines:
    rows = [row for row in map(json.loads, lines) if row["n"] <= 300][::9]
for row in rows:
    ids = numpy.array([row["ids"]], dtype=numpy.int64)
    given = {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}
    outputs = session.run(None, {name: given[name] for name in inputs})
    (hidden,) = [o for o in outputs if o.dtype == numpy.float32 and o.ndim == 3]
    mean = hidden[0].astype(numpy.float64).mean(axis=0)
    vector = mean / numpy.linalg.norm(mean)
    print(json.dumps({"text": row["text"], "ids": row["ids"], "vector": vector.tolist()}))
