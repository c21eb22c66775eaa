// The same layer in the frameworks that the documents name, each with its own eps, and in this package. Comments in code are
// few, so code is the same in both languages.

/** @typedef {"pytorch" | "keras" | "flax"} Framework */

/** @type {Record<Framework, { name: string, eps: number, epsText: string, code: string }>} */
export const FRAMEWORKS = {
  pytorch: {
    name: "PyTorch",
    eps: 1e-5,
    epsText: "1e-5",
    code: `import torch
import torch.nn as nn

class SimpleNN(nn.Module):
    def __init__(self, input_size, output_size):
        super().__init__()
        self.fc1 = nn.Linear(input_size, 128)
        self.layer_norm = nn.LayerNorm(128)  # eps=1e-5
        self.fc2 = nn.Linear(128, output_size)

    def forward(self, x):
        x = self.fc1(x)
        x = self.layer_norm(x)
        x = torch.relu(x)
        return self.fc2(x)

model = SimpleNN(64, 10)
output = model(torch.randn(10, 64))`,
  },
  keras: {
    name: "Keras",
    eps: 1e-3,
    epsText: "1e-3",
    code: `import keras
from keras import layers

model = keras.Sequential([
    keras.Input((64,)),
    layers.Dense(128),
    layers.LayerNormalization(axis=-1),  # epsilon=1e-3
    layers.ReLU(),
    layers.Dense(10),
])
output = model(keras.random.normal((10, 64)))`,
  },
  flax: {
    name: "Flax",
    eps: 1e-6,
    epsText: "1e-6",
    code: `import flax.linen as nn
import jax

class SimpleNN(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Dense(128)(x)
        x = nn.LayerNorm()(x)  # epsilon=1e-6
        x = nn.relu(x)
        return nn.Dense(10)(x)

x = jax.random.normal(jax.random.key(0), (10, 64))
output, variables = SimpleNN().init_with_output(jax.random.key(1), x)`,
  },
};

/**
 * @param {Framework} framework
 * @returns {string} this package's call with the same numbers
 */
export function ourCode(framework) {
  const { epsText } = FRAMEWORKS[framework];
  return `import { layerNorm } from "layernorm";
import { LayerNorm } from "layernorm/nn";

// hidden: a Float32Array, 10 rows of 128
const y = layerNorm(hidden, { shape: [10, 128], eps: ${epsText} });

// with a weight and a bias to train or to load
const norm = new LayerNorm(128, { eps: ${epsText} });
const same = norm.forward(hidden);`;
}
