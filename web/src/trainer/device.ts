// Where training runs: on the CPU, on the graphics processor, or on the faster of the two. Where there is no such processor,
// training runs on the CPU, and why is said.

import * as sn from 'sinter';
import { whyNoDevice } from '../program/workers/device.ts';
import type { TrainedOn } from '../state/protocol.ts';

/** After init: what there is of what was asked for. */
export const deviceFound = (asked: TrainedOn): TrainedOn => (sn.info().device === null ? 'cpu' : asked);

const timed = (ms: number | undefined): string => (ms === undefined ? '' : ` (${ms.toPrecision(3)} ms)`);

/** In a sentence, after a program was made: where it runs, and why there; '' where nothing else was asked for. */
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
