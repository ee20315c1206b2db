// Gates over rows in memory, with constant wires and a derivative of their own.
//
// A gate is c0 + c1 a + c2 b + c3 a b, where a and b are rows of x. The derivative op by op would write both inputs of all
// gates to memory, and scatter their gradients from there. The rule here reads dy, a and b once for the coefficients. For dx,
// each row of x adds the terms of its wires, dy (c1 + c3 b) or dy (c2 + c3 a), where they are computed. Steps of an automaton
// take two thirds of the time; layers of thousands of gates are faster, too.

import * as sn from '../index.js';
import type { Tensor } from '../index.js';
import type { Wires } from './wires.js';

type Coefficients = readonly [c0: Tensor, c1: Tensor, c2: Tensor, c3: Tensor];

/** The gates' values for rows a and b. */
export const combined = ([c0, c1, c2, c3]: Coefficients, a: Tensor, b: Tensor): Tensor => c0.add(c1.mul(a)).add(b.mul(c2.add(c3.mul(a))));

/** A function for a layer with these wires: rows (inputs, cells) and coefficients (gates, 1) -> (gates, cells). */
export function wiredGates([wiresA, wiresB]: Wires): (x: Tensor, ...coefficients: Coefficients) => Tensor {
  const inputsOf = (x: Tensor): [Tensor, Tensor] => [x.take(sn.tensor(wiresA)), x.take(sn.tensor(wiresB))];
  const all = Int32Array.of(...wiresA, ...wiresB);
  const others = Int32Array.of(...wiresB, ...wiresA);
  const gates = wiresA.length;
  const gateOf = Int32Array.from(all, (_, i) => i % gates);
  const value = (x: Tensor, ...coefficients: Coefficients): Tensor => combined(coefficients, ...inputsOf(x));
  return sn.customVjp(value, {
    forward: (...args) => [value(...args), args],
    backward: ([x, , c1, c2, c3]: [Tensor, ...Coefficients], cotangent) => {
      const dy = cotangent as Tensor;
      const [a, b] = inputsOf(x);
      const dya = dy.mul(a);
      const sum = (terms: Tensor): Tensor => terms.sum({ axis: 1, keepdims: true }).astype(c1.dtype);
      const slopes = sn.concat([c1, c2]).add(sn.concat([c3, c3]).mul(x.take(sn.tensor(others))));
      const dx = sn.zeros(x.shape, { dtype: dy.dtype }).scatterAdd(sn.tensor(all), dy.take(sn.tensor(gateOf)).mul(slopes));
      return [sn.internals.isFloat(x.dtype) ? dx.astype(x.dtype) : null, sum(dy), sum(dya), sum(dy.mul(b)), sum(dya.mul(b))];
    },
  });
}
