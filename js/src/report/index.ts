// sinter/report: explains a profile in words, and exports it for other viewers. It is an entry point of its own, since pages
// that only run programs need not download it. It only reads the numbers of a profile, and does not use the core.

export { boundOf, report, roofOf, type Bound, type Change, type ProfileReport, type ReportOptions, type Roof } from './words.js';
export { toSpeedscope } from './speedscope.js';
