// The entry of the page in one file and of its worker. The same script serves both, as the file cannot load a second one. It is
// bundled by web/build/offline.ts with the package inside, and requests no other file.

import { openPage } from './page.ts';
import { serveWorker } from './trainer.ts';

if (typeof document === 'undefined') serveWorker();
else openPage();
