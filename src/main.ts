#!/usr/bin/env node
// Arguments, environment, exit code; no logic. What needs a recent Node is imported only once the version is known.

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `sidegate needs Node 22.19 or later; this is ${process.version}. Use npm start, which brings its own.`,
  )
  process.exit(2)
}

const { dispatch } = await import('./cli/dispatch.ts')
const { serve } = await import('./cli/serve.ts')
const { demo } = await import('./cli/demo.ts')
const { check } = await import('./cli/check.ts')
const { test } = await import('./cli/test.ts')
const { diff } = await import('./cli/diff.ts')
const { keys } = await import('./cli/keys.ts')
const { audit } = await import('./cli/audit.ts')
const { runGateway } = await import('./gateway.ts')

process.exitCode = await dispatch(process.argv.slice(2), [
  serve(runGateway),
  demo(runGateway),
  check,
  test,
  diff,
  keys,
  audit,
])
// Nothing is left to do: a connection that lingers must not keep the process.
process.exit()
