// write-docs.mjs - writes the coverage of ONNX's own cases into docs/onnx.md.
import { writeFileSync } from 'node:fs';
import { docs, runAll } from './coverage.mjs';
import { passes } from './expected.mjs';

const results = await runAll();
const { file, wanted } = docs(results);
writeFileSync(file, wanted);
for (const result of results.filter((each) => !passes(each))) console.log(result.name, result.problem ? `${result.problem.message}`.slice(0, 200) : result.error);
console.log(`${results.filter(passes).length} of ${results.length} pass`);
process.exit(0);
