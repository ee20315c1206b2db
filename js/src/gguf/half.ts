// float16 and bfloat16 to and from numbers of JavaScript, for the scales of blocks and for writing files.

const WORD = new Float32Array(1);
const BITS = new Uint32Array(WORD.buffer);

/** By exponent, the value of one unit of a float16's fraction. */
const POWERS = Float64Array.from({ length: 32 }, (_, exponent) => 2 ** (Math.max(exponent, 1) - 25));

/** The number that the bits of a float16 stand for. */
export function fromHalf(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const size = exponent === 31 ? (fraction ? NaN : Infinity) : ((exponent ? 1024 : 0) + fraction) * POWERS[exponent]!;
  return bits & 0x8000 ? -size : size;
}

/** The bits of the float16 nearest to a number; ties go to the even one. */
export function toHalf(value: number): number {
  WORD[0] = value;
  const sign = (BITS[0]! >>> 16) & 0x8000;
  const size = Math.abs(WORD[0]!);
  if (!(size < 65520)) return sign | (Number.isNaN(size) ? 0x7e00 : 0x7c00);
  const exponent = Math.max((BITS[0]! >>> 23 & 255) - 112, 1);
  // The number in units of the smallest step at this exponent. Rounding beyond the fraction carries into the exponent.
  const steps = roundEven(size / POWERS[exponent]!);
  return sign | (((exponent - 1) << 10) + steps);
}

/** The bits of the bfloat16 nearest to a number; ties go to the even one. */
export function toBrain(value: number): number {
  WORD[0] = value;
  const bits = BITS[0]!;
  if (Number.isNaN(value)) return (bits >>> 16) | 64;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

function roundEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}
