// Floats of 16 bits.

export const HALVES = ['float16', 'bfloat16'];
/** Binary digits, the least exponent, and the exponent from which on numbers are infinite. */
export const FIELDS = { float16: [11, -14, 16], bfloat16: [8, -126, 128] };

/** The nearest number of the dtype, halfway the even one. */
export const nearest = (dtype) => (x) => {
  const [digits, least, most] = FIELDS[dtype];
  if (!Number.isFinite(x) || x === 0) return x;
  const unit = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(x))), least) - digits + 1);
  const low = Math.floor(x / unit);
  const part = x / unit - low;
  const whole = part > 0.5 || (part === 0.5 && low % 2 !== 0) ? low + 1 : low;
  return Math.abs(whole * unit) >= 2 ** most ? Math.sign(x) * Infinity : whole * unit;
};
