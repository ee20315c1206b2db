// peak.mjs - a worker of the page: it gets milliseconds, and answers the GFLOP/s of fused 128-bit multiply-adds on its core.
import { peak } from '../../web/src/bench/workers/peak.ts';

onmessage = ({ data }) => postMessage(peak(true, data));
