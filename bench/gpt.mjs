// gpt.mjs - the transformer of letters whose training steps are timed: learnt positions, pre-norm blocks, GELU, an untied head.

export const LETTERS = 65;

/** The module: letters (batch, context) of int32 to scores (batch, context, LETTERS). */
export const gpt = ({ nn, random, add }, width, blocks, heads, context) => {
  const block = () => nn.sequential(
    nn.residual(nn.layerNorm(width), nn.selfAttention(width, heads, { causal: true })),
    nn.residual(nn.layerNorm(width), nn.linear(width, 4 * width), nn.gelu(), nn.linear(4 * width, width)),
  );
  const places = { init: (key) => random.normal(key, [context, width]).mul(0.02), apply: (table, x) => add(x, table) };
  return nn.sequential(nn.embedding(LETTERS, width), places, ...Array.from({ length: blocks }, block), nn.layerNorm(width), nn.linear(width, LETTERS));
};
