// Run projective geometry response: report a point that likely lies on the hyperplane of the value.
// The same points, fields and draws as in Python's discreet.local.protocols.frequency.projective_geometry, whose docstring has the mathematics.

/** The tables of the field of q elements: the same in every language, by the smallest irreducible polynomial. */
export function field(q) {
  const [p, e] = primePower(q);
  const digits = (x) => Array.from({ length: e }, (_, i) => Math.floor(x / p ** i) % p);
  const number = (c) => c.reduce((sum, each, i) => sum + each * p ** i, 0);
  const low = modulus(p, e).slice(0, e);
  const plus = new Uint16Array(q * q);
  const times = new Uint16Array(q * q);
  const minus = new Uint16Array(q);
  const inverse = new Uint16Array(q);
  const all = Array.from({ length: q }, (_, x) => digits(x));
  for (let x = 0; x < q; x++) {
    minus[x] = number(all[x].map((c) => (p - c) % p));
    for (let y = 0; y < q; y++) {
      plus[x * q + y] = e === 1 ? (x + y) % p : number(all[x].map((c, i) => (c + all[y][i]) % p));
      times[x * q + y] = e === 1 ? (x * y) % p : number(multiplied(all[x], all[y], low, p));
      if (times[x * q + y] === 1) inverse[x] = y;
    }
  }
  return { plus, times, minus, inverse };
}

function multiplied(a, b, low, p) {
  const total = a.map(() => 0);
  let moved = b;
  for (const factor of a) {
    for (let i = 0; i < total.length; i++) total[i] = (total[i] + factor * moved[i]) % p;
    const top = moved[moved.length - 1];
    moved = moved.map((_, i) => ((((i ? moved[i - 1] : 0) - top * low[i]) % p) + p) % p);
  }
  return total;
}

function primePower(q) {
  let p = 2;
  while (p * p <= q && q % p) p++;
  if (q % p) p = q;
  const e = Math.round(Math.log(q) / Math.log(p));
  if (!(q >= 2 && q <= 1024) || p ** e !== q) throw new RangeError(`There is no field of ${q} elements here.`);
  return [p, e];
}

function modulus(p, e) {
  // monic polynomials by their numbers, so that the first that is not a product is the smallest
  const monic = (degree) =>
    Array.from({ length: p ** degree }, (_, x) => [
      ...Array.from({ length: degree }, (_, i) => Math.floor(x / p ** i) % p),
      1,
    ]);
  const composite = new Set();
  for (let degree = 1; degree <= e / 2; degree++)
    for (const a of monic(degree))
      for (const b of monic(e - degree)) {
        const product = new Array(e + 1).fill(0);
        a.forEach((x, i) => b.forEach((y, j) => (product[i + j] = (product[i + j] + x * y) % p)));
        composite.add(product.join());
      }
  return monic(e).find((f) => !composite.has(f.join()));
}

/** The number of points with t coordinates. */
export const points = (q, t) => (q ** t - 1) / (q - 1);

/** Returns a function (value, inside, among, beside) → index of the point that is reported. */
export function space(q, t) {
  const { plus, times, minus, inverse } = field(q);
  const powers = Array.from({ length: t + 1 }, (_, m) => q ** m);
  const first = powers.map((_, m) => points(q, m));
  const y = new Int32Array(t);
  const place = (index) => {
    let m = 0;
    while (first[m + 1] <= index) m++;
    return m;
  };
  return (value, inside, among, beside) => {
    const m = place(value);
    let given = beside;
    if (inside) given = among + powers[place(among)] - first[place(among)];
    let rest = value - first[m];
    let product = 0;
    for (let i = 0; i < t; i++) {
      if (i === m) continue; // this coordinate is not given: it settles the inner product
      const high = Math.floor(given / q);
      y[i] = given - high * q;
      given = high;
      if (i < m) {
        const more = Math.floor(rest / q);
        product = plus[product * q + times[(rest - more * q) * q + y[i]]];
        rest = more;
      }
    }
    y[m] = plus[(inside ? 0 : 1) * q + minus[product]];
    let top = t - 1;
    while (y[top] === 0) top--;
    const factor = inverse[y[top]] * q;
    let index = 0;
    for (let i = top - 1; i >= 0; i--) index = index * q + times[factor + y[i]];
    return index + first[top];
  };
}
