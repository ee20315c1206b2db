declare module 'virtual:offline' {
  /** The address of the code of a page in one file. */
  const address: string;
  export default address;
}
