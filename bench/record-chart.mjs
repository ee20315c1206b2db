// record-chart.mjs - draws the chart of docs/bench.md and of the README: how many times as long other libraries take, in a page
// and natively.

/** One row for each kind of work: the first in the list that has a goal. Names begin with the kind. */
const kindOf = (name) => name.replace(/ [\d(].*$/, '').replace(/, \d+$/, '').replace(/ \d.*$/, '');
const firstOfKind = (rows) => rows.filter(({ name }, i) => rows.findIndex((other) => kindOf(other.name) === kindOf(name)) === i);

/** Small calls show the cost of a call, not of a kernel; they are only in the table. */
const isLarge = ({ name }) => !/ 1K| 100K| 99,225|eager/.test(name);

export const barsOf = ({ workloads, page }) => ({
  page: firstOfKind(page.cases.filter(({ ratio, name }) => ratio !== null && isLarge({ name }))).map(({ name, ratio }) => ({ name, ratio })),
  native: workloads.filter((row) => row.ratios.torch && isLarge(row)).map(({ name, ratios }) => ({ name, ratio: ratios.torch })),
});

const ROW = 22;
const TOP = 64;
const WIDTH = 1120;
const LABELS = 226;
const INK = '#1f2328';
const COLOURS = { faster: '#ea580c', slower: '#8c959f' };
const PARTS = [
  { of: 'page', title: 'In a page: the best of TensorFlow.js, onnxruntime-web and jax-js', left: LABELS },
  { of: 'native', title: 'Natively: PyTorch', left: WIDTH / 2 + LABELS - 24 },
];

/** Bars from 1 to the ratio, on a logarithmic axis; a bar to the right means that Sinter is faster. */
const seriesOf = (bars, i) => ({
  type: 'custom', xAxisIndex: i, yAxisIndex: i, animation: false,
  data: bars.map(({ ratio }, at) => [ratio, at]),
  renderItem: (_, api) => {
    const [ratio, at] = [api.value(0), api.value(1)];
    const [x, y] = api.coord([ratio, at]);
    const [one] = api.coord([1, at]);
    const height = 0.62 * ROW;
    const isFaster = ratio >= 1;
    return {
      type: 'group',
      children: [
        { type: 'rect', shape: { x: Math.min(one, x), y: y - height / 2, width: Math.max(1, Math.abs(x - one)), height }, style: { fill: isFaster ? COLOURS.faster : COLOURS.slower } },
        { type: 'text', style: { text: `${ratio >= 100 ? Math.round(ratio) : ratio.toPrecision(2)}x`, x: Math.max(one, x) + 5, y, textVerticalAlign: 'middle', fill: INK, fontSize: 12 } },
      ],
    };
  },
});

/** An SVG, drawn by ECharts. */
export const chartOf = async (figures) => {
  const { init } = await import('echarts');
  const bars = barsOf(figures);
  const most = Math.max(...PARTS.map(({ of }) => bars[of].length));
  const height = TOP + most * ROW + 46;
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    textStyle: { fontFamily: 'system-ui, sans-serif', color: INK },
    title: [
      { text: `How many times as long others take as Sinter${figures.quick ? ' (a smoke run: no comparison)' : ''}`, left: 16, top: 8, textStyle: { fontSize: 16, color: INK } },
      ...PARTS.map(({ title }, i) => ({ text: title, left: 16 + (i * WIDTH) / 2, top: 34, textStyle: { fontSize: 13, fontWeight: 'normal', color: INK } })),
    ],
    grid: PARTS.map(({ of, left }) => ({ left, width: WIDTH / 2 - LABELS - 56, top: TOP, height: bars[of].length * ROW })),
    xAxis: PARTS.map(({ of }, i) => ({ type: 'log', gridIndex: i, min: bars[of].every(({ ratio }) => ratio >= 0.5) ? 0.5 : 10 ** Math.floor(Math.log10(Math.min(...bars[of].map(({ ratio }) => ratio)))), axisLabel: { formatter: (value) => `${value}x`, color: INK, hideOverlap: true }, splitLine: { lineStyle: { color: '#d8dee4' } } })),
    yAxis: PARTS.map(({ of }, i) => ({ type: 'category', gridIndex: i, inverse: true, data: bars[of].map(({ name }) => name), axisLabel: { color: INK, fontSize: 12, interval: 0 }, axisTick: { show: false }, axisLine: { show: false } })),
    series: PARTS.map(({ of }, i) => seriesOf(bars[of], i)),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return `${svg}\n`;
};
