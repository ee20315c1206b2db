// One core's share of the peak; the page asks as many of these at once as the engine has threads.

import { answer } from '../../compiler/workers/answer.ts';
import type { PeakMethods } from '../protocol.ts';
import { peak } from './peak.ts';

const describe = (error: unknown) => ({ name: 'Error', message: String(error), hint: '', line: null, column: null });

answer<PeakMethods>({ peak }, describe);
