// peak.mjs - a worker of the page: milliseconds in, the GFLOP/s of fused 128-bit multiply-adds on its core out.
import { peak } from '../../web/src/bench/workers/peak.ts';

onmessage = ({ data }) => postMessage(peak(true, data));
