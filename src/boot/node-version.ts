// Says in one line that a Node is too old, in place of the failure of whatever needs a newer one first. Imports nothing.

/** Ends the process where Node is older than what the dependencies ask for. To be called before they are loaded. */
export function refuseOldNode(): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 19)) return
  console.error(
    `sidegate needs Node 22.19 or later; this is ${process.version}. Use npm start, which brings its own.`,
  )
  process.exit(2)
}
