// Ends the process on an old version of Node. Imports nothing that needs a newer one.

/** The least version in `engines` of package.json: chokidar's. */
const LEAST = [22, 22] as const

/** Exits with code 2 and one line on standard error if Node is too old. Call it first. */
export function refuseOldNode(): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1])) return
  console.error(
    `sidegate needs Node ${LEAST.join('.')} or later; this is ${process.version}. Install a newer Node, for example with \`nvm install 24\`, then install sidegate again; in the repository use npm start, which brings its own.`,
  )
  process.exit(2)
}
