// sinter/report: what a profile says, in words, and as files of other viewers. An entry point of its own, since a page that
// only runs programs need not download it. It reads a profile's numbers, and asks nothing of the core.

export { boundOf, report, roofOf, type Bound, type Change, type ProfileReport, type ReportOptions, type Roof } from './words.js';
export { toSpeedscope } from './speedscope.js';
