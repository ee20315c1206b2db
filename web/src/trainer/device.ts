// Where training runs: on the CPU, on the graphics processor, or on the faster of the two. Without such a processor, it runs on
// the CPU, and a sentence says why.

import * as sn from 'sinter';
import { whyNoDevice } from '../program/workers/device.ts';
import type { TrainedOn } from '../state/protocol.ts';

/** After init: the requested place if it exists, otherwise the CPU. */
export const deviceFound = (asked: TrainedOn): TrainedOn => (sn.info().device === null ? 'cpu' : asked);

const timed = (ms: number | undefined): string => (ms === undefined ? '' : ` (${ms.toPrecision(3)} ms)`);

/** A sentence on where the program runs and why, valid once it is made; '' if the CPU was requested. */
export function sayDevice(asked: TrainedOn): string {
  if (asked === 'cpu') return '';
  const { device } = sn.info();
  if (device === null) return `Runs on the CPU: ${whyNoDevice()}.`;
  const { adapter, choices } = device;
  if (asked === 'webgpu') return `Runs on the graphics processor: ${adapter}.`;
  const choice = choices.filter(({ op }) => op === 'trainStep').at(-1);
  if (choice === undefined) return `Runs on the CPU, until it is known whether ${adapter} is faster.`;
  if (choice.reason !== 'measured') return `Runs on the CPU: ${choice.reason}.`;
  const [cpu, there] = [`the CPU${timed(choice.cpuMs)}`, `${adapter}${timed(choice.deviceMs)}`];
  return choice.device === 'cpu' ? `Runs on ${cpu}, which is faster than ${there}.` : `Runs on ${there}, which is faster than ${cpu}.`;
}
