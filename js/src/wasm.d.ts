// The build puts a module into the one-file script as base64.
declare module '*.wasm' {
  const base64: string;
  export default base64;
}
