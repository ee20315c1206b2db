// A program that imports the package by its name; the bundler has to find its worker and its modules.
import * as sn from 'sinter';

const { threads, reasons } = await sn.init();
const a = sn.tensor([[1, 2], [3, 4]]);
let refusal;
try {
  sn.matmul(a, sn.zeros([3, 3]));
} catch (error) {
  refusal = `${error.name}: ${error.message}`;
}
const product = [...(await sn.matmul(a, a).data())];
window.result = { threads, cores: navigator.hardwareConcurrency, reasons, product, refusal };
