// The same with shaders whose threads share memory, as on every adapter that is not in software: trees of totals, tiles of
// products.
import { settings } from './device.mjs';

settings.sharesMemory = true;
await import('./ops.test.mjs');
await import('./torch.test.mjs');
