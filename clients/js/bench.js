// Measure how many reports a second a device can make: node clients/js/bench.js [reports]

import { Fresh, randomiser } from "./index.js";

const n = Number(process.argv[2] ?? 1000000);
const draws = new Fresh();
const protocols = {
  // d = 1024, ε = 1: the parameters of Python's for_epsilon
  projective: { domain: "1024", order: "4", dimension: "6", keep: "8747154408446316544" },
  hadamard: { domain: "1024", keep: "13485726153843187712" },
  hcms: { domain: "1024", rows: "1024", columns: "1024", flip: "4961017919866363904", seed: "0" },
  grr: { domain: "1024", keep: "48881562484219904" },
};

for (const [name, parameters] of Object.entries(protocols)) {
  const made = randomiser(name, parameters);
  let sum = 0;
  for (let i = 0; i < n / 10; i++) sum += made.encode(i % 1024, draws)[0];
  const start = performance.now();
  for (let i = 0; i < n; i++) sum += made.encode(i % 1024, draws)[0];
  const seconds = (performance.now() - start) / 1000;
  console.log(JSON.stringify({ name, reports: n, per_second: Math.round(n / seconds), checksum: sum % 256 }));
}
