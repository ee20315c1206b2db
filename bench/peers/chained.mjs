// chained.mjs - the building simulation in terms of another library's functions { add, sub, mul, div, neg, abs }. They take
// that library's values; the second argument of the first four may also be a number.
import { lossOf } from '../simulation.mjs';

const VECTORS = 4;
const LENGTH = 5;

const wrapping = (ops) => {
  class Value {
    constructor(raw) {
      this.raw = raw;
    }
  }
  const raw = (x) => (x instanceof Value ? x.raw : x);
  for (const [name, f] of Object.entries(ops)) {
    Value.prototype[name] = function chained(...others) {
      return new Value(f(this.raw, ...others.map(raw)));
    };
  }
  return Value;
};

/** The loss as a function of the scalars of simulationData. */
export const lossWith = (ops) => {
  const Value = wrapping(ops);
  return (scalars) => {
    const values = scalars.map((x) => new Value(x));
    const vectors = Array.from({ length: VECTORS }, (_, v) => values.slice(LENGTH * v, LENGTH * (v + 1)));
    return lossOf(vectors, values.at(-1)).raw;
  };
};
