"""Training the reference-less simplicity estimate: levelled documents in, a small ONNX model and its card out."""
