// Measures one core's share of the peak. The page asks as many of these workers at once as the engine has threads.

import { answer } from '../../compiler/workers/answer.ts';
import type { PeakMethods } from '../protocol.ts';
import { peak } from './peak.ts';

const describe = (error: unknown) => ({ name: 'Error', message: String(error), hint: '', line: null, column: null });

answer<PeakMethods>({ peak }, describe);
