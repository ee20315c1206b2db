// worker.mjs - the package in a worker of the page: the first message brings the options of sn.init, each
// further one a command line.
import * as sn from '../../js/dist/index.js';
import { answer } from './commands.mjs';

let ready;
onmessage = async ({ data }) => {
  if (ready) {
    await ready;
    postMessage(await answer(data));
    return;
  }
  ready = sn.init(data);
  postMessage(await ready.then(() => ({}), (error) => ({ error: String(error) })));
};
