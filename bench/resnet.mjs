// resnet.mjs - ResNet-8 (He et al. 2015) made of a package's layers, for bench/networks.mjs and js/test/resnet.test.mjs:
// pictures (n, h, w, 3) to 10 classes through 16, 32 and 64 channels.

/** The padding of a window, on both sides of each axis. */
const PADDING = { 1: 'valid', 3: [[1, 1], [1, 1]] };

/** Two 3 x 3 convolutions with a skip connection. If there are more channels, the side is halved, and the skip is a 1 x 1
 *  convolution. */
const block = ({ nn, random }, from, to) => {
  const conv = (inputs, size, strides) => nn.conv2d(inputs, to, size, { strides, padding: PADDING[size], bias: false });
  const main = (strides) => nn.sequential(conv(from, 3, strides), nn.batchNorm(to), nn.relu(), conv(to, 3, 1), nn.batchNorm(to));
  if (from === to) return nn.sequential(nn.residual(main(1)), nn.relu());
  const ways = [main(2), nn.sequential(conv(from, 1, 2), nn.batchNorm(to))];
  return {
    hasState: true,
    init: (key) => {
      const made = random.splitKeys(key).map((own, i) => ways[i].init(own));
      return { params: made.map(({ params }) => params), state: made.map(({ state }) => state) };
    },
    apply: (params, x, { state, ...options }) => {
      const [[y, next], [past, other]] = ways.map((way, i) => way.apply(params[i], x, { ...options, state: state[i] }));
      return [y.add(past).relu(), [next, other]];
    },
  };
};

export const resnet8 = (sn) => sn.nn.sequential(
  sn.nn.conv2d(3, 16, 3, { padding: PADDING[3], bias: false }), sn.nn.batchNorm(16), sn.nn.relu(),
  block(sn, 16, 16), block(sn, 16, 32), block(sn, 32, 64),
  { init: () => ({}), apply: (_, x) => x.mean({ axis: [1, 2] }) }, sn.nn.linear(64, 10),
);
