// Standard errors of a fit: the square roots of the diagonal of s^2 H^-1, where H is the Hessian of half the sum of squares,
// and s^2 is that sum divided by the degrees of freedom.

/** The diagonal of the inverse of a symmetric matrix; null if the matrix is not positive definite. */
function inverseDiagonal(matrix: Float64Array, n: number): Float64Array | null {
  // Cholesky: matrix = L L'.
  const l = new Float64Array(n * n);
  for (let i = 0; i < n; i++)
    for (let j = 0; j <= i; j++) {
      let sum = matrix[i * n + j];
      for (let k = 0; k < j; k++) sum -= l[i * n + k] * l[j * n + k];
      if (i === j && !(sum > 1e-12 * matrix[i * n + i])) return null;
      l[i * n + j] = i === j ? Math.sqrt(sum) : sum / l[j * n + j];
    }
  // Computes each column of L^-1; the sum of its squares is a diagonal element of the inverse.
  return Float64Array.from({ length: n }, (_, column) => {
    const x = new Float64Array(n);
    let total = 0;
    for (let i = column; i < n; i++) {
      let sum = i === column ? 1 : 0;
      for (let k = column; k < i; k++) sum -= l[i * n + k] * x[k];
      x[i] = sum / l[i * n + i];
      total += x[i] ** 2;
    }
    return total;
  });
}

/** Standard errors of a fit to `count` points, from the mean square `loss` and its Hessian; null if they are not determined. */
export function spread(hessian: Float64Array, loss: number, count: number): Float64Array | null {
  const n = Math.round(Math.sqrt(hessian.length));
  if (count <= n || !Number.isFinite(loss)) return null;
  const diagonal = inverseDiagonal(hessian, n);
  // The Hessian of half the sum of squares is count / 2 times that of the mean.
  return diagonal?.map((each) => Math.sqrt((2 * loss * each) / (count - n))) ?? null;
}
