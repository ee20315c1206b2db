// The page in one file, and its worker: the same script is both, as a file has no second one to load. It is bundled by
// web/build/offline.ts with the package inside, and asks for no other file.

import { openPage } from './page.ts';
import { serveWorker } from './trainer.ts';

if (typeof document === 'undefined') serveWorker();
else openPage();
