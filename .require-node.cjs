// Ends an npm script, or a global installation, with one sentence if Node is too old for it. Runs on
// any version of Node.

const { engines } = require('./package.json')

const [wanted] = engines.node.match(/\d+\.\d+/)
const isOlder = ([major, minor], [leastMajor, leastMinor]) =>
  major < leastMajor || (major === leastMajor && minor < leastMinor)
const numbers = (version) => version.split('.').map(Number)

if (isOlder(numbers(process.versions.node), numbers(wanted))) {
  const event = process.env.npm_lifecycle_event
  const needs = `sidegate needs Node ${wanted} or later; this is ${process.version}.`
  if (event !== 'preinstall') {
    console.error(`${needs} Run \`npm ci\`, which installs the right one for its scripts.`)
    process.exitCode = 2
  } else if (process.env.npm_config_global === 'true') {
    console.error(
      `${needs} Install a newer Node, for example with \`nvm install 24\`, then install sidegate again.`,
    )
    process.exitCode = 1
  } else {
    console.error(`${needs} npm now installs the right one for its scripts: use \`npm start\`, not \`node\`.`)
  }
}
