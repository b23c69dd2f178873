// Ends the process on an old version of Node. Imports nothing that needs a newer one.

/** Exits with code 2 and one line on standard error if Node is too old. Call it first. */
export function refuseOldNode(): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 19)) return
  console.error(
    `sidegate needs Node 22.19 or later; this is ${process.version}. Use npm start, which brings its own.`,
  )
  process.exit(2)
}
